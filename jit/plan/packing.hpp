// What a cache tile packs, and which index runs in lanes because of it. Shown by tests/jit/register_tile.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>
#include <sheaf/jit/plan/shape_facts.hpp>

namespace sheaf::inline v0_1::plan {

// May a fold be kept between blocks and go on from there? The identity combined with that is that: no bit changes.
bool goes_on(const graph& g, node_id reduce);

// The largest parts of an expression that differ along both `lane` and `walk`, and are the same for all rows.
std::vector<node_id> shared_of(const graph& g, node_id reduce, node_id rows, node_id lane);

// The cache tile that a stage of rows and lanes, in batches of its other indices, may have; its rows are none where it
// may not.
cache_tile_form packed_form(const graph& g, const stage& s, node_id rows, node_id lane);

// That of the rows of which there are most.
cache_tile_form packed_form(const graph& g, const facts& known, const stage& s, node_id lane);

// Of a block of a panel with so many lanes.
std::int64_t bytes_of_panel(const graph& g, const cache_tile_form& c, int lanes);

// Is more packed than a cache holds as it lies, for so many rows that it is worth a cache tile?
bool packs_much(const graph& g, const facts& known, const cache_tile_form& c, node_id lane, double stays);

// Are the lanes of a stage far apart in what a cache tile would pack?
bool has_far_lanes(graph& g, const facts& known, const stage& s);

// Will its kernel have a cache tile, if it has the kernel for itself? It asks no number of a processor family, for
// which stages share a kernel decides their lanes.
bool has_cache_tile(graph& g, const facts& known, const stage& s);

// Are its rows short sums of products, so that a row by itself would wait for each addition, and rows that are unrolled
// and jammed, in a kernel of its own, would not?
bool has_rows_to_jam(graph& g, const facts& known, const stage& s);

// The index of a stage's results that had better run in lanes although they are far apart in memory, where the fold
// would else have lanes that are folded for each result: a cache tile packs them, for rows that share what they load.
// none: there is none.
node_id lane_of_packed(graph& g, const facts& known, const stage& s);

}  // namespace sheaf::inline v0_1::plan
