// Pass `tiles`, for a GPU: a reduction over slices that follow each other (offsets, as in CSR) is shared by rows, not
// by slices, so that one long slice among short ones costs no more than its rows. A tile's size is a constant, so bits
// do not depend on the device. Slices whose bounds may overlap stay a group's each. Shown by tests/cuda/tiles.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

// Makes a map stage over the slices one of tiles, or takes the reduction out of it first.
bool take_tiles(const context& c, stage& s);

// How many tiles there are, one at least.
node_id tiles_of(graph& g, const tile_form& f);

}  // namespace sheaf::inline v0_1::plan
