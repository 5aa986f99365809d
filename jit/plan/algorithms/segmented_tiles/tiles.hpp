// Pass `tiles`, for a GPU: a reduction over slices that follow each other (offsets, as in CSR) is shared by rows, not
// by slices, so that one long slice among short ones costs no more than its rows. A tile's size is a constant, so bits
// do not depend on the device. Slices whose bounds may overlap stay a group's each. Shown by tests/cuda/tiles.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

// Makes a map stage over the slices one of tiles, or takes the reduction out of it first.
bool take_tiles(const context& c, stage& s);

// Makes a range scatter of such slices one of tiles of its rows: each row is of one slice, which a tile finds. What a
// row needs of its slice alone is stored for each slice before.
bool take_rows_of_slices(const context& c, stage& s);

// high(m) is low(m + 1), but for limits that all slices share, and the call demands that it is not less than low(m).
bool slices_follow(graph& g, const tile_form& f);
// Where all slices begin and end, and memory for the first slice of each tile.
void find_all(const context& c, tile_form& f);
bool plans_tiles(const facts& known);

// How many tiles there are, one at least.
node_id tiles_of(graph& g, const tile_form& f);

}  // namespace sheaf::inline v0_1::plan
