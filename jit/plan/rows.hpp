// Pass `rows`: passes over rows shared between partial results and maps. A column sum of what a row pass makes (the
// gradients of a layer norm's scale and shift), or a mean beside the gradient that is written over the same rows, is
// computed while the rows are at hand. Shown by tests/jit/plan_rows.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::plan {

// Results along `columns`, in these lanes: so many that rows are better walked as they lie than down strips of lanes.
bool are_wide_rows(const facts& known, node_id columns, int lanes);

// Input: scheduled stages, partial results with their blocks. Output: maps over the same rows walk them in the same blocks, and
// partial results whose rows are theirs are updated row by row.
void share_rows(graph& g, const facts& known, program_plan& plan);

}  // namespace sheaf::plan
