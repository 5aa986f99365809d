// Pass `register tiles`: which loops of a kernel are unrolled and jammed, how often, and how many lanes go with it. A
// load that does not depend on a loop of the tile serves all of it. Chosen among all sizes by a model of loads,
// arithmetic, latency and registers; no bit of a result depends on the choice. See docs/scheduling.md.
// Shown by tests/jit/register_tile.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>
#include <sheaf/jit/plan/shape_facts.hpp>

namespace sheaf::inline v0_1::plan {

// Has a stage in a kernel of its own a much better tile than one of the loop that its tasks share, the only one that it
// would have in a kernel with others?
bool loses_register_tile(graph& g, const facts& known, program_plan& plan, kernel_plan alone);

// Output: kernel_plan::tile, and fewer lanes where that leaves registers for the tile.
void choose_register_tiles(graph& g, const facts& known, program_plan& plan);

}  // namespace sheaf::inline v0_1::plan
