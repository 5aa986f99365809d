// A reduction over one index of values that take a reduction of their own for each pair of a row and what it walks:
// distances, scores. They are computed in tiles of rows by 64 places of the walked index, into buffers of the task's,
// where the reduction finds them: never as the whole product of the two extents. What is kept of the places of a tile
// joins what was kept before, tile by tile, in the order of the index. Shown by tests/jit/pair_tiles.cpp.
#pragma once
#include <optional>

#include <sheaf/jit/plan/algorithms/pair_tiles/pairs.hpp>
#include <sheaf/jit/plan/plan.hpp>
#include <sheaf/jit/plan/shape_facts.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::plan {

// Makes a map stage one of pair tiles, or takes the reduction, or what it needs of its rows, out of it first.
bool take_pair_tiles(const context& c, stage& s);

// Results of a row that are kept as lanes each, of a type: their buffer is as large for each type.
inline std::int64_t few_of(element type) {
  return static_cast<std::int64_t>(tuning::pair_tiles::most_few) * row(element::f32).bytes / row(type).bytes;
}

// The places that a row walks: [low, high); none: all. Of these, where a condition holds that takes sums of pairs
// itself; none: it folds all.
struct row_range {
  node_id low = no_node, high = no_node;
  node_id where = no_node;
};

// ranges.cpp. The reduction over all places of a dimension that it walks, its own range as a condition; none: there is
// none.
node_id over_closed_range(graph& g, node_id reduce);
// A sum whose terms are 0 where sums of theirs decide, or outside of a range of places, with that as its condition.
node_id with_outer_condition(graph& g, node_id reduce);
// What a condition says of the places of `walk`; nothing: more than a range, or both a range and what sums say.
std::optional<row_range> range_of_rows(graph& g, node_id condition, node_id walk);
// Do rows that stand together walk many of the same places, and may all places between be read?
bool shares_places(graph& g, node_id body, const row_range& range, node_id rows, node_id walk);
// What such a stage computes, as its body has it.
struct pair_parts {
  row_range range;
  node_id reduce = no_node;  // over the walked index
  struct sum {
    node_id reduce = no_node;     // for each pair
    std::vector<node_id> packed;  // what all rows share of it
  };
  std::vector<sum> sums;        // those inside others first
  // What the terms of `reduce` have that is one of a pair, where results have lanes or are several of a row.
  std::vector<node_id> values;
};
pair_parts parts_of_pairs(graph& g, const stage& s);

}  // namespace sheaf::inline v0_1::plan
