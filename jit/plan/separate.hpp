// Pass `separate`: a sum over u whose terms hold f(t) for an outer t is brought to sums that don't, so that running
// sums can be seen: a selection by t leaves the sum, and so does a divisor that the selection says is not 0.
//   sum(t >= s, select(x(s) == 0, a(t), b(t) / x(s)))  is  select(x(s) == 0, sum(t >= s, a(t)), sum(t >= s, b(t)) /
//                                                      x(s))
// This is what makes the gradient of a running product two running sums. Shown by tests/jit/scan.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

// The order of contraction, of sums of products over several indices: sum(over(j, k), a(i, j) * b(j, k) * c(k, l)) is
// sum(k, c(k, l) * d(i, k)) with d(i, k) = sum(j, a(i, j) * b(j, k)), stored. no_node where that takes no fewer terms.
// Shown by tests/rules/algorithms.cpp.
node_id take_contracted(const context& c, node_id n, const stage& s);

// The reduction itself where there is nothing to separate.
node_id separated(graph& g, node_id reduce);

}  // namespace sheaf::inline v0_1::plan
