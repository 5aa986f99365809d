// The extents that stand for all extents of a class, when a plan for it is made.
// Shown by tests/jit/shapes.cpp.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include <sheaf/dsl/graph/graph.hpp>
#include <sheaf/jit/shapes/decisions.hpp>
#include <sheaf/jit/shapes/joined_extents.hpp>

namespace sheaf::inline v0_1::shapes {

// Dimensions that the program ties to each other are one size. What a class holds of them is how long the dimension
// is along which lanes go (short, narrow, a row, a long one), whether others along which elements lie are short, and
// how many rows the longest of the others has: few where they are long, some or many where they are narrow, or rows
// and all lie along one dimension, else any number. The places of a window, as of a convolution's weights, are few
// and never asked for: an index that is added to one over a tensor's dimension walks them, or one of a stated range.
// Where rows are short or narrow, and no other elements lie along another dimension, it is asked whether the rows of
// values that the program computes are short (rows_of_values.hpp). The dimensions of a tensor share its rows, so that a
// batch of matrices is planned for as large a tensor as a table is. Calls are irregular where a range of the program is
// empty or a subscript without data is outside: they have one class, and what its plan would ask of them is asked when
// the kernel runs.
class usual_extents {
 public:
  enum class covering : std::uint8_t {
    few,    // a plan asks nothing of a call but which class it is of (decisions::bound_by)
    usual,  // the same classes, in which a plan may ask what pays
    one     // one class of all sizes, in which it may ask that, too
  };
  explicit usual_extents(const graph& g, covering by);

  // The extents of a call by place among those of all inputs, with what stands for them; of which class they are is
  // recorded. What the program states is itself.
  std::vector<amount> of(std::span<const std::int64_t> extents, decisions& record) const;

 private:
  enum class role : std::uint8_t { list, along, also_along, rows, window, unread };
  // By role.
  struct sizes {
    std::int64_t along = 0, also_along = 0, rows = 0;
    std::int64_t of_values = 0;  // 0: they are as many as rows are
  };
  bool is_list() const;  // lanes go along no table of numbers
  sizes general_sizes() const;
  // most: gets the largest of the class, by place.
  sizes sizes_of(std::span<const amount> extents, std::vector<std::int64_t>& most) const;
  bool is_irregular(std::span<const amount> extents) const;
  bool is_each_below(std::int64_t limit, std::span<const amount> extents, std::vector<std::int64_t>& most) const;
  std::int64_t at(std::size_t place, const sizes& u) const;
  void note_order();
  template <class F>
  void for_read(const F& f) const;
  // By size, how many places of a window it has; 0: it is none.
  std::vector<std::int64_t> windows(const joined_extents& same) const;
  // f of the places of an input that are rows.
  template <class F>
  void for_rows(int input, const F& f) const;

  const graph& g_;
  const bool general_, few_;
  std::vector<role> roles_;           // by place
  std::vector<std::int64_t> stated_;  // by place; dynamic: a call's
  std::vector<std::int64_t> windows_;  // by place: what stands for the places of a window
  std::vector<bool> of_values_;        // by place: are they rows along which those of values lie?
  // Of a regular call the first is less than the second, or no_node: than the extent at the place.
  struct ordered {
    node_id less, more;
    int place;
    bool operator==(const ordered&) const = default;
  };
  std::vector<ordered> ordered_;
  std::vector<int> beside_;           // by place: the dimensions of rows of a tensor that it is of, at most
};

// To plan with: extents of a call, for a class (usual_extents) or exact. Exact ones have beside them those that stand
// for their class, of which what decides bits asks (facts::bits); not on a GPU, where exact plans have their own.
std::vector<amount> amounts_of(const graph& g, std::span<const std::int64_t> extents, decisions& record,
                               bool gpu = false);

}  // namespace sheaf::inline v0_1::shapes
