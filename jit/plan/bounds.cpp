#include <sheaf/jit/plan/bounds.hpp>

#include <algorithm>

#include <sheaf/jit/plan/rewrite.hpp>

namespace sheaf::inline v0_1::plan {

node_id low_of(graph& g, node_id tensor, int d) {
  return g.kind(tensor) == op::define ? g.arg(g.arg(tensor, 1 + d), 0) : integer(g, 0);
}
node_id high_of(graph& g, node_id tensor, int d) {
  return g.kind(tensor) == op::define ? g.arg(g.arg(tensor, 1 + d), 1) : extent(g, tensor, d);
}

namespace {

// An index whose range ends at `high`, if not before, is below it whatever that is.
bool ends_at(const graph& g, node_id e, node_id high) {
  if (g.kind(e) != op::index) return false;
  node_id end = g.arg(e, 1);
  for (; g.kind(end) == op::minimum; end = g.arg(end, 1))
    if (g.arg(end, 0) == high) return true;
  return end == high;
}

}  // namespace

node_id inside_condition(graph& g, node_id n) {
  node_id inside = truth(g, true);
  if (is_proven(g, n)) return inside;
  for (int d = 0; d + 1 < g[n].count; ++d) {
    const node_id tensor = g.arg(n, 0), low = low_of(g, tensor, d), high = high_of(g, tensor, d), e = g.arg(n, 1 + d);
    inside = conjunction(g, inside, ends_at(g, e, high) ? at_most(g, low, e) : range_condition(g, e, low, high));
  }
  return inside;
}

ends ends_of(graph& g, node_id e) {
  ends r{e, e, truth(g, true)};
  for (;;) {
    index_set all = g.free[r.least];
    all |= g.free[r.most];
    bool changed = false;
    auto list = indices_of(g, all);
    std::sort(list.rbegin(), list.rend());  // ranges refer to older nodes
    for (const node_id idx : list) {
      const line a = split_affine(g, r.least, idx), b = split_affine(g, r.most, idx);
      if (!a.affine || !b.affine) continue;
      const node_id low = g.arg(idx, 0), high = g.arg(idx, 1), last = make(g, op::add, high, integer(g, -1));
      const auto at = [&](const line& l, bool least) {
        return point_of(g, l, (l.slope > 0) == least ? low : last);
      };
      const node_id first = at(a, true), farthest = at(b, false);
      if (first == no_node || farthest == no_node) continue;
      r.least = first;
      r.most = farthest;
      if (!known_less_equal(g, make(g, op::add, low, integer(g, 1)), high))
        r.nonempty = conjunction(g, r.nonempty, make(g, op::less, low, high));
      changed = true;
      break;
    }
    if (!changed) return r;
  }
}

void ask_for_elements(graph& g, ends& r, node_id inside) {
  index_set open = g.free[r.least];
  open |= g.free[r.most];
  for (node_id idx = g.size(); idx-- > 0;) {  // ranges refer to older nodes
    if (g.kind(idx) != op::index || is_unbound(g, idx) || !open.has(g.ordinal(idx))) continue;
    open |= g.free[idx];
    if (g.free[inside].has(g.ordinal(idx)) || g.free[r.nonempty].has(g.ordinal(idx))) continue;
    const node_id low = g.arg(idx, 0), high = g.arg(idx, 1);
    if (!known_less_equal(g, make(g, op::add, low, integer(g, 1)), high))
      r.nonempty = conjunction(g, r.nonempty, make(g, op::less, low, high));
  }
}

}  // namespace sheaf::inline v0_1::plan
