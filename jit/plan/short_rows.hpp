// Short rows in a tensor of many: with lanes along a row, a register would be masked and folded all the time. Rows are
// lanes instead, and loops go along them; the pass `transpose_accesses` loads and stores a few columns of all lanes
// at a time. Results are lanes, so a row's terms are folded in the order of its index. So are rows that an outer
// reduction folds again for each term, with what all rows share (distances to a few centres): of any number of terms.
// Shown by tests/jit/short_rows.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>
#include <sheaf/jit/plan/shape_facts.hpp>

namespace sheaf::inline v0_1::plan {

// Gives a map stage over short rows its loops and lanes; false: it has none.
bool schedule_short_rows(graph& g, const facts& known, stage& s);

// Of the loops of a value's reductions, one after the other, each with those within it: an expression of extents.
node_id trips_of_folds(graph& g, node_id value);

// Stores what a fold over all rows needs of each, where that folds short ones: they are lanes in a stage of their own.
// The fold of what is stored; no_node: rows have no such values.
node_id take_short_rows(const context& c, node_id n, const stage& s);

}  // namespace sheaf::inline v0_1::plan
