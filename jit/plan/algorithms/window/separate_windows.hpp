// Rule `separate windows`: a fold over a window of several dimensions is one over its rows, of folds of each row that
// all windows with this row share: 12 steps of 6 x 6 places instead of 36.
//   max(over(u, v), x(i + u, j + v))  is  max(u, rows(i + u, j)) with rows(s, j) = max(v, x(s, j + v))
// Input: a sum or an extremum over several closed ranges, one of which slides. Output: the fold of stored rows, so sums
// are added row by row. Shown by tests/rules/algorithms.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>
#include <sheaf/jit/plan/shape_facts.hpp>

namespace sheaf::inline v0_1::plan {

node_id take_separate_windows(const context& c, node_id n, const stage& s);

}  // namespace sheaf::inline v0_1::plan
