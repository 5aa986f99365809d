#include <sheaf/jit/plan/algorithms/pair_tiles/parts.hpp>

#include <algorithm>

#include <sheaf/jit/numerics/numerics.hpp>
#include <sheaf/jit/plan/packing.hpp>
#include <sheaf/jit/plan/rewrite.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

// The largest expressions of a pair that no index of `others` changes.
void find_values(const graph& g, const pair_tile_form& f, const index_set& others, node_id n,
                 std::vector<node_id>& list) {
  if (!is_of_pair(g, n, f.rows, f.walk)) return;
  const bool kept = !g.free[n].meets(others) && numerics::accumulated(g.type(n)) == g.type(n) &&
                    g.type(n) != element::boolean && g.kind(n) != op::tuple;
  if (kept) {
    if (std::ranges::find(list, n) == list.end()) list.push_back(n);
    return;
  }
  if (g.kind(n) == op::load || g.kind(n) == op::reduce) return;
  for (int k = 0; k < g[n].count; ++k) find_values(g, f, others, g.arg(n, k), list);
}

}  // namespace

pair_parts parts_of_pairs(graph& g, const stage& s) {
  const pair_tile_form& f = s.pairs();
  pair_parts parts;
  for (const node_id n : reductions_in(g, s.body)) {
    if (is_of_pair(g, n, f.rows, f.walk))
      parts.sums.push_back({n, shared_of(g, n, f.rows, f.walk)});
    else if (g[n].count == 3 && g.arg(n, 2) == f.walk)
      parts.reduce = n;
  }
  parts.range = *range_of_rows(g, g.arg(parts.reduce, 1), f.walk);
  index_set others;
  for (const node_id idx : {f.lane, f.few})
    if (idx != no_node) others.insert(g.ordinal(idx));
  if (!others.empty()) find_values(g, f, others, g.arg(parts.reduce, 0), parts.values);
  return parts;
}

}  // namespace sheaf::inline v0_1::plan
