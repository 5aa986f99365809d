// Rule: a sum over a constant few places whose terms ask which of them it is, as those of `stack` along a last
// dimension: the terms are written out, and each is the one case that holds for it.
//   sum(over(t, k.in(0, 2)), select(k == 0, a(t), b(t))) = sum(t, a(t) + b(t))
// Shown by tests/rules/algorithms.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

node_id take_cases(const context& c, node_id n, const stage& s);

}  // namespace sheaf::inline v0_1::plan
