// Rule: a sum whose condition asks for the digits of an index, as the gradient of what reads x(t / 9, t % 9): the index
// is replaced by its digits, of which the condition is then solved.
//   sum(t.where(i == t / 9 && j == t % 9), y(t)) = sum(over(a, b.in(0, 9)).where(i == a && j == b), y(9 * a + b))
// Shown by tests/jit/index_digits.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

bool take_digits(const context& c, stage& s);

}  // namespace sheaf::inline v0_1::plan
