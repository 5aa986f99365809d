// A reduction over one index of values that take a reduction of their own for each pair of a row and what it walks:
// distances, scores. They are computed in tiles of rows by 64 places of the walked index, into buffers of the task's,
// where the reduction finds them: never as the whole product of the two extents. What is kept of the places of a tile
// joins what was kept before, tile by tile, in the order of the index. Shown by tests/jit/pair_tiles.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

// Makes a map stage one of pair tiles, or takes the reduction, or what it needs of its rows, out of it first.
bool take_pair_tiles(const context& c, stage& s);

// Do rows of a stage walk ranges of pairs that tiles would fold, in a reduction that is in no other?
bool may_fold_ranges_of_pairs(const context& c, stage& s);

}  // namespace sheaf::inline v0_1::plan
