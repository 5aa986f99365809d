// The extents that stand for all extents of a class, when a plan for it is made.
// Shown by tests/jit/shapes.cpp.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include <sheaf/dsl/graph/graph.hpp>
#include <sheaf/jit/shapes/decisions.hpp>

namespace sheaf::inline v0_1::shapes {

// Dimensions that the program ties to each other are one size. Few sizes have more than one class: that along which
// elements lie (short, a row, long) and that of what is repeated (few, some, many), so that a program
// has at most eight.
class usual_extents {
 public:
  // general: all sizes have one class.
  explicit usual_extents(const graph& g, bool general = false);

  // By place among the extents of all inputs, for those of a call; what the program states is itself.
  std::vector<std::int64_t> of(std::span<const std::int64_t> extents) const;
  // The extents of a call, to plan with: for a class what stands for them is what they are compared by, and of which
  // class they are is recorded.
  std::vector<amount> of(std::span<const std::int64_t> extents, decisions& record) const;

 private:
  // By role.
  struct sizes {
    std::int64_t along = 0, repeated = 0, other = 0;
  };
  template <class Number>
  sizes sizes_of(std::span<const Number> extents) const;
  std::int64_t at(std::size_t place, const sizes& u) const;

  enum class role : std::uint8_t { list, along, repeated, other, unread };

  const bool general_;
  std::vector<role> roles_;           // by place
  std::vector<std::int64_t> stated_;  // by place; dynamic: a call's
};

}  // namespace sheaf::inline v0_1::shapes
