// Rule: positions in windows of a few places, in lanes.
//   x(argmax(u, x(u))) = max(u, x(u)), within argmax: no lane reads a place of its own
//   argmax(q, x(p(i) + q)), with p(i) itself a position in a window = one such for each value of p(i), chosen by p(i)
//   argmax(u in [a, a + w), x(u)) = a chain of w choices
// Input: a map. Shown by tests/jit/near_scatter.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

bool take_window_position(const context& c, stage& s);

}  // namespace sheaf::inline v0_1::plan
