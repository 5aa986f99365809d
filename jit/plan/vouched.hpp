// Loads that checks vouch for in slices. The gradient of y(m) = sum(e.in(off(m), off(m + 1)), x(at(e))) by what stands
// beside x sums over the m whose slice has a row e, and reads x(at(e)): inside, for y read it for the same m and e, but
// only there. Shown by tests/jit/vouched.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>
#include <sheaf/jit/plan/rewrite.hpp>

namespace sheaf::inline v0_1::plan {

// Of a sum over the slices that have a row, all loads that one of `checked` is for the same slice and row.
std::vector<vouched_load> vouched_in_slices(graph& g, const stage& s, const std::vector<node_id>& checked);

// Of a range scatter that evaluates its terms for the rows of slices alone: what is vouched for there as proven loads.
void prove_vouched(graph& g, stage& s);

}  // namespace sheaf::inline v0_1::plan
