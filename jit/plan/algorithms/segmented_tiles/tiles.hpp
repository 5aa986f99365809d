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

// The kernel, after those of a fold, that stores rows of slices which lie in several tiles.
inline constexpr int rows_after_join = 2;
// May a stage of rows store in the kernel that folds them what it needs of slices that lie in a tile? It reads of the
// fold's results each row's own, and has tiles of the same rows.
bool stores_rows_of(const graph& g, const stage& fold, const stage& rows);
// What both compute of a row, and its memory may keep from one to the other: as either has it.
struct kept_value {
  node_id of_fold = no_node, of_rows = no_node;
};
std::vector<kept_value> kept_values(graph& g, const tile_form& fold, const tile_form& rows);

// high(m) is low(m + 1), but for limits that all slices share, and the call demands that it is not less than low(m).
bool slices_follow(graph& g, const tile_form& f);
// Where all slices begin and end, and memory for the first slice of each tile.
void find_all(const context& c, tile_form& f);
bool plans_tiles(const facts& known);

// How many tiles there are, one at least.
node_id tiles_of(graph& g, const tile_form& f);

}  // namespace sheaf::inline v0_1::plan
