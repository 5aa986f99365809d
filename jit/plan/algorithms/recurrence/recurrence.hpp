// Sums over a growing range whose terms meet the running extremum M of that range, one step from result to result:
//   sum(s <= t, v(s) where a(s) == M(t))      is A(t) = [a(t) == M(t)] v(t) + [M(t) == M(t - 1)] A(t - 1)
//   sum(t >= s, v(t) where a(s) == M(t))      is [a(s) == M(s)] A(s), A(s) = v(s) + [M(s) == M(s + 1)] A(s + 1)
//   sum(s <= t, v(s) exp(a(s) - M(t)))        is A(t) = v(t) exp(a(t) - M(t)) + exp(M(t - 1) - M(t)) A(t - 1)
//   sum(t >= s, v(t) exp(a(s) - M(t)))        is exp(a(s) - M(s)) A(s), A(s) = v(s) + exp(M(s) - M(s + 1)) A(s + 1)
// The first two are ties of a running maximum and its gradient, the others a running logsumexp and its gradient. M
// never falls, so no factor is above 1, and where a(s) is not M(s) it is below every later M. Terms and results of the
// last two may be asked for by conditions of s or of t alone, and M may be that of the terms so asked; where none came
// before, M counts as 0, and a factor from there is of no terms. Shown by tests/jit/scan.cpp.
#pragma once
#include <sheaf/jit/plan/sliding.hpp>

namespace sheaf::inline v0_1::plan {

// What stands for the reduction, after its stages were appended to `before`; no_node: it is none of these.
node_id take_recurrence(const context& c, node_id reduce, const stage& s);
// The same for a running fold of maps h -> b + a * h, as gradients of running folds have them: r is along what it runs.
node_id take_chain(const context& c, const sliding& r, const stage& s);

}  // namespace sheaf::inline v0_1::plan
