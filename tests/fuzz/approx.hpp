// A program's value together with a bound of what rounding may have made of it: the reference's arithmetic in f64, and
// beside each number the error that a kernel may have in the types of the program, in any order of additions
// (semantics.md). Where a comparison, a cast or a subscript hangs on less than the error, what follows is unknown.
// Input: a graph and tensors. Output: value and bound per element of each output. Shown by tests/fuzz/main.cpp.
#pragma once
#include <limits>
#include <vector>

#include <sheaf/dsl/graph/monoids.hpp>

#include "data.hpp"

namespace sheaf::fuzz {

// What a value is a sum of: another sum that it is a term of may take its terms one by one (sums in sums are joined).
struct summands {
  double size = 0;         // of their sizes the sum; 0: it is one number
  double least = 0;        // the lowest bit that is set in one of them
  std::int64_t count = 1;
};

// An error that nothing is known of.
constexpr double unknown = std::numeric_limits<double>::infinity();

// error: at most this far from what a kernel has; infinite: unknown. 0: it has exactly this.
struct approximate {
  double real = 0;
  std::int64_t integer = 0;
  double error = 0;
  bool masked = false;  // a 0 that a mask or a condition left
  summands of = {};
  bool sure() const { return error == 0; }
};

struct approximate_tensor {
  std::vector<std::int64_t> extents, lows;
  std::vector<approximate> values;
};

// Of the terms that a sum's elements are sums of, where these may be summed apart.
struct sizes_of_terms {
  double sum = 0;                                          // of their sizes
  double least = std::numeric_limits<double>::infinity();  // the lowest bit that is set in one of them
  bool divided = false;                                    // do terms hold quotients?
  void note(const approximate& x);
};

class approximation {
 public:
  // ahead: subscripts are looked at as kernels may check them, also in slices without rows that they do not depend on.
  approximation(const graph& g, std::vector<const tensor_data*> inputs, bool ahead = false);
  // The values of a definition.
  const approximate_tensor& of(node_id definition);
  // Did so much have to be computed that it was given up?
  bool tired() const { return steps_ > step_limit; }
  // Did a subscript that may lie outside hang on rounding?
  bool unsure_subscript() const { return unsure_subscript_; }
  // Was the node's value, or its slope, infinite or NaN somewhere?
  bool was_infinite(node_id n) const { return infinite_[static_cast<std::size_t>(n)]; }

 private:
  static constexpr std::int64_t step_limit = 3'000'000;

  approximate value(node_id n);
  bool has_infinite_slope(node_id n) const;
  approximate computed(node_id n);
  approximate of_op(node_id n);
  approximate loaded(node_id n);
  approximate converted(approximate a, element from, element to);
  approximate reduced(node_id n);
  approximate of_own_fold(node_id n, const std::vector<std::vector<approximate>>& list);
  bool holds(node_id n, bool& unsure);
  void assign(int ordinal, std::int64_t position);
  bool is_current(node_id n) const;
  void fill(node_id definition, int dimension, approximate_tensor& t);

  struct folding;
  bool may_separate(node_id reduce) const;
  bool may_leave_factor(node_id reduce);
  void forget(std::int64_t begin, std::size_t kept);
  bool holds_infinite(node_id n, index_set loops);
  void note_terms(node_id e, sizes_of_terms& terms);
  void run(folding& f, std::size_t depth);
  bool waits(node_id n) const;
  void look(node_id n);
  void look_past(node_id reduce, const std::vector<node_id>& loops, std::size_t depth);
  void look_at_place(node_id load);

  const graph& g_;
  std::vector<const tensor_data*> inputs_;
  std::vector<approximate_tensor> tensors_;
  std::vector<int> kept_;  // by node: which of tensors_
  std::vector<bool> infinite_;
  std::vector<std::int64_t> computed_, assigned_, position_;
  std::vector<approximate> values_;
  std::vector<std::vector<int>> free_;
  std::int64_t clock_ = 0, steps_ = 0;
  bool unsure_subscript_ = false;
  bool ahead_;
  std::vector<int> empty_;  // the ordinals of the loops without rows that are looked past
};

// The lowest bit that is set: all sums of numbers that are multiples of it are, too.
double quantum(double x);
// What it is a sum of, one number too.
summands summands_of(const approximate& x);
// One op of values with errors, of the node's type.
// `from`: the type of the first argument.
approximate approximate_op(op kind, element type, element from, bool real, const approximate* args);
// Folds; an element has as many values as the state.
using elements = std::vector<std::vector<approximate>>;
approximate added(const elements& list, element type, const sizes_of_terms& terms);
approximate multiplied(const elements& list, element type);
approximate extreme(const elements& list, monoid kind);
approximate placed(const elements& list, const std::vector<std::int64_t>& positions, monoid kind, bool real);
approximate folded(const graph& g, monoid kind, const elements& list);
std::int64_t steps_of_fold(const graph& g, monoid kind, std::size_t count);
// Is the program's own derivative of the fold a number for each element?
bool has_finite_slopes(const graph& g, monoid kind, const elements& list, const approximate& result);
double unit_of(element type);      // half the distance from 1 to the next number
double largest_of(element type);
double smallest_of(element type);  // the smallest denormal number

}  // namespace sheaf::fuzz
