// Algorithm `block tree`: reductions over many overlapping slices by tables of blocks. Table 1 holds the folds of 16
// rows each, table 2 those of 16 entries of table 1, and so on; a slice is then folded from at most 30 entries a level.
// Nothing is subtracted, so it serves every monoid, and a NaN or a large value concerns only the slices that hold it.
// Which way pays is known when the bounds are: tables are filled and used only if the slices have many more rows than
// the data. Shown by tests/jit/ragged.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::plan {

// A reduction whose range is data and whose body does not depend on the slice.
struct slices_form {
  node_id reduce = no_node, t = no_node;
  node_id rows = no_node;  // how many there are of t's
  index_set slice;         // the indices that the bounds depend on
  bool numbers = false;    // are rows numbers, without columns?
};
slices_form slices_in(graph& g, const facts& known, const stage& s);

// The number of rows that proven loads of inputs walk with t; no_node where e reads with t otherwise, or reduces.
// guarded: loads at t itself need not be proven, as each t is read and so goes no further.
node_id rows_walked(graph& g, node_id e, node_id t, bool guarded = false);

// Is taking all slices row by row more work than to do it independently of their lengths? A condition on a stage
// before.
struct all_slices {
  node_id low, high, rows;  // of a slice, and how many rows there are
  index_set slice;          // the indices that the bounds depend on
  std::int64_t rows_of_one = tuning::block_tree::rows_of_a_slice;  // that cost what a slice costs from tables
};
node_id many(const context& c, const stage& s, const all_slices& a);

// Rewrites one reduction of a map stage whose range is data and whose body does not depend on the slice.
bool take_block_tree(const context& c, stage& s);

// The transpose, for a range scatter of values that do not depend on the row: a slice adds to at most 30
// entries of each table, and a row is worth what its edges add and what the tables hold for it.
bool scatter_block_tree(const context& c, stage& s);

}  // namespace sheaf::inline v0_1::plan
