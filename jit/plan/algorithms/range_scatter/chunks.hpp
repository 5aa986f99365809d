// How many rows of a range scatter go to a chunk of its lists of slices (see `slice_lists`), and how many chunks there
// are. Shown by tests/jit/ragged.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>
#include <sheaf/jit/plan/rewrite.hpp>

namespace sheaf::inline v0_1::plan {

inline node_id rows_of_chunk(graph& g, const slice_lists& l) {
  const node_id least = integer(g, l.chunk);
  return l.shift == no_node ? least : make(g, op::shift_left, least, l.shift);
}

inline node_id chunks_of(graph& g, const slice_lists& l) {
  return ceil_quotient(g, trips_of(g, l.owned), rows_of_chunk(g, l));
}

// A chunk has as many rows as a task takes of elements, if that leaves enough tasks: computed in the kernel, so that it
// is no number of some extents alone.
inline node_id shift_of_chunks(graph& g, const facts& known, const slice_lists& l, const index_set& columns,
                               std::int64_t task) {
  node_id across = integer(g, 1), shift = integer(g, 0);
  for (const node_id idx : indices_of(g, columns)) across = make(g, op::mul, across, trips_of(g, idx));
  const node_id rows = trips_of(g, l.owned);
  const auto tasks = static_cast<std::int64_t>(2 * known.enough_tasks());
  for (std::int64_t chunk = l.chunk; chunk < task; chunk *= 4) {
    const node_id small = make(g, op::less, make(g, op::mul, across, integer(g, chunk)), integer(g, task));
    const node_id more = conjunction(g, small, make(g, op::less, integer(g, chunk * tasks), rows));
    shift = make(g, op::add, shift, make(g, op::select, more, integer(g, 2), integer(g, 0)));
  }
  return shift;
}

// What each element of the result folds by itself.
inline index_set folded_within(const graph& g, const stage& s) {
  index_set within;
  for (const node_id n : reductions_in(g, g.arg(s.body, 0)))
    for (const node_id idx : bound_indices(g, n))
      if (is_closed(g, idx)) within.insert(g.ordinal(idx));
  return within;
}

}  // namespace sheaf::inline v0_1::plan
