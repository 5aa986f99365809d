// Which ranges of a reduction may be cut into blocks, whatever their sizes. Shown by tests/jit/plan.cpp.
#pragma once
#include <algorithm>

#include <sheaf/jit/plan/cost.hpp>
#include <sheaf/jit/plan/plan.hpp>
#include <sheaf/jit/plan/rewrite.hpp>

namespace sheaf::inline v0_1::plan {

// Partial results are stored for each block of the range, so no data may say how long it is. Blocks of slices differ in
// length: on a GPU there are enough of them for that not to matter.
inline bool may_be_cut(const context& c, node_id n, node_id idx) {
  const auto& [g, known, before] = c;
  if (!is_closed(g, idx) || (!known.for_groups() && !may_vectorise(g, n, idx))) return false;
  return !is_folded_in_order(g, n) || idx == nesting_order(g, bound_indices(g, n)).front();
}

// Of stage s, which is not of blocks already.
inline bool may_split(const context& c, node_id n, const stage& s) {
  const auto cuts = [&](node_id idx) { return may_be_cut(c, n, idx); };
  return s.rows.whole == no_node && (c.known.for_groups() || std::ranges::any_of(bound_indices(c.g, n), cuts));
}

// What a term costs where data names a place of it that varies with the index: a line for each of them.
inline double lines_of_term(const graph& g, node_id n) {
  const index_set bound = set_of(g, bound_indices(g, n));
  const bool gathers = std::ranges::any_of(loads_in(g, g.arg(n, 0)), [&](node_id q) {
    for (int d = 0; d + 1 < g[q].count; ++d)
      if (data_names(g, q, d) && g.free[g.arg(q, 1 + d)].meets(bound)) return true;
    return false;
  });
  return gathers ? numerics::split::gathered : 1;
}

}  // namespace sheaf::inline v0_1::plan
