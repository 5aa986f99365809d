// Sums of powers of pairs: exp(p - c) * v over the places of a row. Relative to the maximum of p instead of c, they
// can be folded while that maximum is: what was folded before is scaled to what it has become. So an attention takes
// its scores once (the online softmax of Milakov and Gimelshein 2018). Shown by tests/jit/pair_tiles.cpp.
#pragma once
#include <sheaf/dsl/passes/powers.hpp>
#include <sheaf/jit/plan/algorithms/pair_tiles/ranges.hpp>

namespace sheaf::inline v0_1::plan {

// The value of such a sum by terms that are relative to the maximum, where a stage before has it; else the sum.
// range: the places of a row.
node_id relative_to_maximum(const context& c, node_id sum, const pair_tile_form& f, const row_range& range);

// May the stage fold the tiles that those of a kernel do? Of a sum of powers whose maximum is one of these it notes it.
bool share_tiles(graph& g, const facts& known, const program_plan& plan, const kernel_plan& k, stage& s);

}  // namespace sheaf::inline v0_1::plan
