// The places that rows of pairs walk: ranges that differ from row to row (prefixes, windows, the rows of a document),
// and conditions that sums of pairs decide.
#pragma once
#include <optional>

#include <sheaf/jit/plan/algorithms/pair_tiles/pairs.hpp>

namespace sheaf::inline v0_1::plan {

// The places that a row walks: [low, high); none: all. Of these, where a condition holds that takes sums of pairs
// itself, or, `by_index`, that is no such range, as where places name the rows that walk them; none: it folds all.
struct row_range {
  node_id low = no_node, high = no_node;
  node_id where = no_node;
  bool by_index = false;
};

// The reduction over all places of a dimension that it walks, its own range as a condition; none: there is none.
node_id over_closed_range(graph& g, node_id reduce);
// A sum whose terms are 0 where sums of theirs decide, or outside of a range of places, with that as its condition.
// of_rows: or in some rows, too.
node_id with_outer_condition(graph& g, node_id reduce, bool of_rows);
// What a condition says of the places of `walk`; nothing: more than a range, or both a range and what sums say.
std::optional<row_range> range_of_rows(graph& g, node_id condition, node_id walk);
// Does a reduction, in which there may be values of pairs, walk a range of its own for each row, of so many that tiles
// pay?
bool walks_ranges_of_pairs(graph& g, const facts& known, node_id reduce);
// May all places of a tile be read, whichever of them a condition on indices chooses?
bool may_read_all_places(graph& g, node_id body, node_id walk);
// Do rows that stand together walk many of the same places, and may all places between be read?
bool shares_places(graph& g, node_id body, const row_range& range, node_id rows, node_id walk);

}  // namespace sheaf::inline v0_1::plan
