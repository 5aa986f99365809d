#include <sheaf/jit/plan/loop_order.hpp>

#include <algorithm>

#include <sheaf/jit/plan/algorithms/stencil/small_windows.hpp>
#include <sheaf/jit/plan/rewrite.hpp>

namespace sheaf::inline v0_1::plan {

void order_by_rows(const facts& known, stage& s) {
  const graph& g = known.g();
  if (s.loop_within || s.rows.block != no_node) return;
  std::vector<node_id> loads;
  index_set inner{};
  inner.insert(g.ordinal(s.vector));
  for (const node_id n : reductions_in(g, s.body)) {
    if (!is_chain_of_terms(g, n) && g.kind(g.arg(n, 0)) != op::mul) return;
    inner |= set_of(g, bound_indices(g, n));
    for (const node_id e : loads_in(g, n)) loads.push_back(e);
  }
  node_id most = no_node;
  const auto rows_of = [&](node_id e) { return known.trips(g.free[e].common(inner)) * row(g.type(e)).bytes; };
  for (const node_id e : loads)
    if (most == no_node || rows_of(e) > rows_of(most)) most = e;
  if (most == no_node) return;
  for (const node_id e : loads) {
    const amount all = known.trips(g.free[e]) * row(g.type(e)).bytes;
    if (g.arg(e, 0) != g.arg(most, 0) && all > known.call().on.second_cache / 2) return;
  }
  auto next = s.loops.begin();
  for (auto at = next; at + 1 != s.loops.end(); ++at)
    if (uses(g, most, *at)) std::rotate(next++, at, at + 1);
}

}  // namespace sheaf::inline v0_1::plan
