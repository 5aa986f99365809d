// Passes over slices whose bounds are data: conditions become ranges, what depends on a slice alone is computed once,
// and a range scatter walks only the slices that meet its rows. Shown by tests/jit/ragged.cpp.
#pragma once
#include <sheaf/jit/plan/algorithms/range_scatter/chunks.hpp>
#include <sheaf/jit/plan/plan.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::plan {

// `lo <= t && t < hi` on a bound index t as its range, also where lo and hi are loads (the smart constructor leaves
// those in the condition, for a range is computed even if it is empty). Only loads that cannot fail move.
node_id narrowed(graph& g, node_id root);

// In a range scatter: a reduction that does not depend on the owned index is computed once a slice: in the same
// pass where it walks the slice itself and that is short, else in a stage of its own.
bool take_per_slice(const context& c, stage& s);

// Puts a stage before a range scatter that lists the slices by chunks of rows, where tasks would walk many in
// vain.
bool list_slices(const context& c, stage& s);

// What is read wherever e is evaluated: behind no choice, and in no loop that may have no round.
template <class F>
void for_each_read_always(const graph& g, node_id e, F f) {
  const op kind = g.kind(e);
  const bool first_only = kind == op::select || kind == op::logical_and || kind == op::logical_or;
  if (kind == op::load) f(e);
  if (kind == op::reduce || kind == op::index) return;
  for (int k = kind == op::load ? 1 : 0; k < (first_only ? 1 : g[e].count); ++k)
    for_each_read_always(g, g.arg(e, k), f);
}

// The slices of a range scatter.
slice_lists slices_of(graph& g, const stage& s);
// Are their bounds closed expressions of the slice alone?
bool has_plain_bounds(const graph& g, const slice_lists& l);

// Slices by offsets: is high(m) low(m + 1)? Such are meant not to overlap, which is a matter of the data.
bool follow_each_other(graph& g, node_id low, node_id high, node_id slice);
// Are slices, rows and elements so many that asking how much slices overlap pays?
inline bool may_overlap_much(const amount& slices, const amount& rows, const amount& elements) {
  namespace from = tuning::overlapping_slices;
  return shapes::all_of({{slices, from::least_slices}, {rows, from::least_rows}, {elements, from::least_elements}});
}

// The stage that makes the lists.
stage lists_stage(graph& g, const facts& known, const slice_lists& l);
// On a GPU all threads make a list, if that is not a matter of a few slices.
void sort_slices(const context& c, stage& lists);

}  // namespace sheaf::inline v0_1::plan
