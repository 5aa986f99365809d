#include <sheaf/jit/plan/enclosing_ranges.hpp>

#include <algorithm>

#include <sheaf/dsl/graph/affine.hpp>
#include <sheaf/jit/plan/rewrite.hpp>

namespace sheaf::inline v0_1::plan {

// Arguments stand before what they are arguments of, but a stage may compute what was made after its definition.
enclosing_ranges::enclosing_ranges(const graph& g, std::span<const stage> stages)
    : around_(static_cast<std::size_t>(g.size())), met_(static_cast<std::size_t>(g.size()), false) {
  for (const stage& s : stages)
    if (s.where == place::output) meet(s.define, {index_set()});
  for (const node_id y : g.differentiated) meet(y, {index_set()});
  for (const demand& d : g.demands)
    for (const node_id n : {d.wrong, d.limit, d.found}) meet(n, {index_set()});
  for (changed_ = true; changed_;) {
    changed_ = false;
    for (const stage& s : stages) {
      const auto at = static_cast<std::size_t>(s.define);
      if (!met_[at]) continue;
      std::vector<index_set> within = around_[at];
      for (const node_id idx : s.indices) meet(idx, around_[at]);
      for (index_set& way : within) way |= set_of(g, s.indices);
      meet(s.body, within);
    }
    for (node_id n = g.size(); n-- > 0;)
      if (met_[static_cast<std::size_t>(n)]) visit(g, n);
  }
}

namespace {

constexpr std::size_t most_ways = 8;

}  // namespace

// A way with fewer ranges around it is there wherever one with more is.
void enclosing_ranges::meet(node_id n, const std::vector<index_set>& ways) {
  if (n == no_node) return;
  std::vector<index_set>& known = around_[static_cast<std::size_t>(n)];
  met_[static_cast<std::size_t>(n)] = true;
  for (const index_set& way : ways) {
    if (std::any_of(known.begin(), known.end(), [&](const index_set& k) { return k.within(way); })) continue;
    std::erase_if(known, [&](const index_set& k) { return way.within(k); });
    known.push_back(way);
    changed_ = true;
  }
  if (known.size() <= most_ways) return;
  for (const index_set& k : known) known[0] = known[0].common(k);
  known.resize(1);
}

void enclosing_ranges::visit(const graph& g, node_id n) {
  const std::vector<index_set> here = around_[static_cast<std::size_t>(n)];
  std::vector<index_set> within = here;
  const auto enter = [&](node_id idx) {
    for (index_set& way : within) way.insert(g.ordinal(idx));
  };
  if (g.kind(n) == op::reduce) {
    for (const node_id idx : nesting_order(g, bound_indices(g, n))) {
      meet(idx, within);
      enter(idx);
    }
    meet(g.arg(n, 0), within);
    return meet(g.arg(n, 1), here);  // parts of it are asked before later loops
  }
  for (int k = 1; g.kind(n) == op::define && k < g[n].count; ++k) enter(g.arg(n, k));
  for (int k = 0; k < g[n].count; ++k) meet(g.arg(n, k), k == 0 ? within : here);
}

node_id enclosing_ranges::nonempty(graph& g, node_id n, const index_set& walked) const {
  const auto at = static_cast<std::size_t>(n);
  if (at >= met_.size() || !met_[at]) return truth(g, true);
  node_id any = truth(g, false);
  for (const index_set& way : around_[at]) {
    node_id all = truth(g, true);
    for (const node_id idx : indices_of(g, way.without(walked))) {
      const node_id low = g.arg(idx, 0), high = g.arg(idx, 1);
      const bool by_data = holds(g, low, op::load) || holds(g, high, op::load);
      if (by_data || !g.free[low].empty() || !g.free[high].empty()) continue;
      if (known_less_equal(g, make(g, op::add, low, integer(g, 1)), high)) continue;
      all = conjunction(g, all, make(g, op::less, low, high));
    }
    any = make(g, op::logical_or, any, all);
  }
  return any;
}

}  // namespace sheaf::inline v0_1::plan
