// Rule `linearise`: the row and the column of a dense tensor that are a number divided by its columns, as of a reshape,
// are that number: no lane divides, and neighbours are read as neighbours.
// Input: loads that are known to be inside. Output: the same with that number, behind 0 or what the row has beside, as
// the group of rows that a reshape joins (x(19 * i + j / columns, j % columns) is x(19 * i, j)). Shown by
// tests/numeric/familiar_joins.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>
#include <sheaf/jit/plan/shape_facts.hpp>

namespace sheaf::inline v0_1::plan {

bool take_linearised(const context& c, stage& s);

}  // namespace sheaf::inline v0_1::plan
