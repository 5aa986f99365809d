// Pass `checks`: what must hold before any output is written. A load whose subscript is not known to be inside is
// - vouched for by a check where it is evaluated whatever the data: the load is then proven;
// - a load that masks itself where it stands under a condition, or in a loop that is empty for the call's extents:
// outside,
//   it yields zero and is no failure;
// - a violation where no data is in it and this call's extents put it outside: a failure if its conditions hold
// anywhere. An index with an affine part in a subscript is checked at the ends of its range only, so a slice costs two
// comparisons. What the program demands of data is checked the same way, after the subscripts that it reads by.
// A check is a reduction, min over its space of the position where it fails, planned and lowered like every other.
// Input: stages as `stages_of` gives them. Output: checks, in order of evaluation; their stages, to be run first; the
// proven loads. Shown by tests/numeric/errors.cpp.
#pragma once
#include <sheaf/jit/plan/shape_facts.hpp>
#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

void add_checks(graph& g, const facts& known, std::vector<stage>& stages, program_plan& plan);

}  // namespace sheaf::inline v0_1::plan
