#include <sheaf/jit/plan/enclosing_ranges.hpp>

#include <sheaf/dsl/graph/affine.hpp>
#include <sheaf/jit/plan/rewrite.hpp>

namespace sheaf::inline v0_1::plan {

// Arguments stand before what they are arguments of.
enclosing_ranges::enclosing_ranges(const graph& g)
    : around_(static_cast<std::size_t>(g.size())), met_(static_cast<std::size_t>(g.size()), false) {
  for (const node_id y : g.outputs) meet(y, {});
  for (const node_id y : g.differentiated) meet(y, {});
  for (const demand& d : g.demands)
    for (const node_id n : {d.wrong, d.limit, d.found}) meet(n, {});
  for (node_id n = g.size(); n-- > 0;)
    if (met_[static_cast<std::size_t>(n)]) visit(g, n);
}

void enclosing_ranges::meet(node_id n, const index_set& around) {
  if (n == no_node) return;
  const auto at = static_cast<std::size_t>(n);
  around_[at] = met_[at] ? around_[at].common(around) : around;
  met_[at] = true;
}

void enclosing_ranges::visit(const graph& g, node_id n) {
  const index_set here = around_[static_cast<std::size_t>(n)];
  if (g.kind(n) == op::reduce) {
    index_set within = here;
    for (const node_id idx : nesting_order(g, bound_indices(g, n))) {
      meet(idx, within);
      within.insert(g.ordinal(idx));
    }
    meet(g.arg(n, 0), within);
    return meet(g.arg(n, 1), here);  // parts of it are asked before later loops
  }
  index_set within = here;
  for (int k = 1; g.kind(n) == op::define && k < g[n].count; ++k) within.insert(g.ordinal(g.arg(n, k)));
  for (int k = 0; k < g[n].count; ++k) meet(g.arg(n, k), k == 0 ? within : here);
}

node_id enclosing_ranges::nonempty(graph& g, node_id n, const index_set& walked) const {
  node_id all = truth(g, true);
  const auto at = static_cast<std::size_t>(n);
  if (at >= met_.size() || !met_[at]) return all;
  for (const node_id idx : indices_of(g, around_[at].without(walked))) {
    const node_id low = g.arg(idx, 0), high = g.arg(idx, 1);
    if (!g.free[low].empty() || !g.free[high].empty() || holds(g, low, op::load) || holds(g, high, op::load)) continue;
    if (known_less_equal(g, make(g, op::add, low, integer(g, 1)), high)) continue;
    all = conjunction(g, all, make(g, op::less, low, high));
  }
  return all;
}

}  // namespace sheaf::inline v0_1::plan
