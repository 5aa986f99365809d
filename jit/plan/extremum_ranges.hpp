// Sums over ties of ranges that `tied` does not take: with steps, of several indices, along other dimensions than the
// last.
//   sum over u of value where key == mine      where no key lies beyond mine
// is S where the keys' own extremum E equals mine, else 0; S is the sum where the keys equal E. E and S are folded one
// index at a time, the last first, each along a walk of its own; of one index with a step they are those of windows
// that move by one element, and perhaps one element more. So no cost grows with a range. Shown by
// tests/jit/extremum_ranges.cpp.
#pragma once
#include <sheaf/jit/plan/extremum_terms.hpp>

namespace sheaf::inline v0_1::plan {

// Works on one such sum of the stage, if it has many terms.
bool take_extremum_ranges(graph& g, const facts& known, node_id reduce, stage& s, std::vector<stage>& before);

// One whose range is of one size and moves by one element, along any dimension: running blocks of that size, a scan of
// the extremum and a recurrence of what ties each way.
bool take_extremum_blocks(graph& g, const facts& known, node_id reduce, stage& s, std::vector<stage>& before);

// The position of an extremum over such a range, the first of equals, or the last where the index runs down: the same
// blocks.
bool take_position(graph& g, const facts& known, node_id reduce, stage& s, std::vector<stage>& before);

}  // namespace sheaf::inline v0_1::plan
