// The extents that stand for all extents of a class, when a plan for it is made.
// Shown by tests/jit/shapes.cpp.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include <sheaf/dsl/graph/graph.hpp>
#include <sheaf/jit/shapes/decisions.hpp>

namespace sheaf::inline v0_1::shapes {

// Dimensions that the program ties to each other are one size. What a class holds of them is how long the dimension is
// along which lanes go (short, narrow, a row), whether others along which elements lie are short, and how many rows the
// longest of the others has: some or many where they are short or narrow, few where they are long, else any number. The
// dimensions of a tensor share its rows, so that a batch of matrices is planned for as large a tensor as a table is.
// Where an extent is 0, all others have the sizes of one class.
class usual_extents {
 public:
  // general: all sizes have one class.
  explicit usual_extents(const graph& g, bool general = false);

  // The extents of a call by place among those of all inputs, with what stands for them; of which class they are is
  // recorded. What the program states is itself.
  std::vector<amount> of(std::span<const std::int64_t> extents, decisions& record) const;

 private:
  enum class role : std::uint8_t { list, along, also_along, rows, unread };
  // By role.
  struct sizes {
    std::int64_t along = 0, also_along = 0, rows = 0;
  };
  sizes sizes_of(std::span<const amount> extents) const;
  bool are_any_empty(std::span<const amount> extents) const;
  bool are_many_rows(std::span<const amount> extents) const;
  bool are_few_long_rows(std::span<const amount> extents, const amount& along) const;
  std::int64_t at(std::size_t place, const sizes& u) const;
  // f of the places of an input that are rows.
  template <class F>
  void for_rows(int input, const F& f) const;

  const graph& g_;
  const bool general_;
  std::vector<role> roles_;           // by place
  std::vector<std::int64_t> stated_;  // by place; dynamic: a call's
  std::vector<int> beside_;           // by place: the dimensions of rows of a tensor that it is of, at most
};

// To plan with: extents of a call, for a class (usual_extents) or exact.
std::vector<amount> amounts_of(const graph& g, std::span<const std::int64_t> extents, decisions& record);

}  // namespace sheaf::inline v0_1::shapes
