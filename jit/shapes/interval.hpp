// All values that a formula may have where its operands lie in intervals. Rounding is monotone, so ends that are
// computed like values enclose them.
// Shown by tests/jit/shapes.cpp.
#pragma once
#include <limits>

#include <sheaf/jit/shapes/amount.hpp>

namespace sheaf::inline v0_1::shapes {

inline constexpr double infinite = std::numeric_limits<double>::infinity();

struct interval {
  double low = -infinite, high = infinite;
  bool is_point() const { return low == high; }
};

interval enclosed(rule how, const interval& a, const interval& b);
// Of an operation on integers; everything where nothing is known of it.
interval enclosed(integer_function f, const interval& a, const interval& b, const interval& c);

}  // namespace sheaf::inline v0_1::shapes
