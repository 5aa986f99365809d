// Pass `panels`: columns that are read twice. A map that needs a result of each whole column (the gradient of a norm down
// the rows) reads all rows again after the pass that made it, and by then the first have left the caches. Where a panel of
// columns fits the last cache, pieces take panels: partial results, results and the map, one after the other.
// Shown by tests/jit/plan_rows.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::plan {

// Input: scheduled stages, producers first. Output: those of a panel share its columns.
void take_panels(graph& g, const facts& known, program_plan& plan);

}  // namespace sheaf::plan
