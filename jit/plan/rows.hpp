// Pass `rows`: passes over rows shared between partial results and maps. A column sum of what a row pass makes (the
// gradients of a layer norm's scale and shift), or a mean beside the gradient that is written over the same rows, is
// computed while the rows are at hand. Shown by tests/jit/plan_rows.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

// Will partial results of n, a reduction of stage s, be walked as whole rows? body: what they fold.
bool walks_wide_rows(const graph& g, const facts& known, node_id n, node_id body, const stage& s);

// Input: scheduled stages, partial results with their blocks. Output: maps over the same rows walk them in the same
// blocks, and partial results whose rows are theirs are updated row by row.
void share_rows(graph& g, const facts& known, program_plan& plan);

}  // namespace sheaf::inline v0_1::plan
