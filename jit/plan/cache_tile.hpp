// Pass `cache tiles`: a kernel that walks more than L2 holds for each row of a register tile takes many rows a task, a
// panel of lanes at a time, in blocks of the index that it folds over; what the rows share of a block is packed into a
// buffer of the task's. Each result is still folded in the order of its index: what a block comes to is kept and gone
// on with. See docs/scheduling.md. Shown by tests/jit/register_tile.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>
#include <sheaf/jit/plan/shape_facts.hpp>

namespace sheaf::inline v0_1::plan {

// Output: kernel_plan::cache.
void choose_cache_tiles(graph& g, const facts& known, program_plan& plan);

}  // namespace sheaf::inline v0_1::plan
