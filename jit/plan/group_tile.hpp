// Pass `group tiles`: on a GPU a block of threads folds a tile of results at once, each thread a few along two indices.
// What is the same for all of a row and what is the same for all of a column is packed into shared memory first, for a
// block of the index that is walked; the order of additions stays. It is found by what a term depends on, whatever it
// computes: products with either operand transposed, gathered rows, functions before, inside and after the sum,
// extrema, batches. See docs/gpu-kernels.md. Shown by tests/cuda/group_tiles.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>
#include <sheaf/jit/plan/shape_facts.hpp>

namespace sheaf::inline v0_1::plan {

// Does the stage have one? It then shares no kernel.
bool has_group_tile(graph& g, const facts& known, const stage& s);

// The index that would run in lanes, of a stage whose loads lie along none; none: it has no such tile.
node_id lane_of_group_tile(graph& g, const facts& known, const stage& s);

// Output: kernel_plan::group.
void choose_group_tiles(graph& g, const facts& known, program_plan& plan);

}  // namespace sheaf::inline v0_1::plan
