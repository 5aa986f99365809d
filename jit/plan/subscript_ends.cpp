#include <sheaf/jit/plan/subscript_ends.hpp>

#include <algorithm>

#include <sheaf/dsl/graph/affine.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/walks.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

// What the subscript was before it was moved inside (dsl/surface/outside.hpp); no_node where it was not.
node_id before_moving(graph& g, node_id e, node_id high) {
  if (g.kind(e) == op::remainder) return g.arg(e, 1) == high ? g.arg(e, 0) : no_node;
  if (g.kind(e) != op::minimum) return no_node;
  const node_id period = make(g, op::mul, integer(g, 2), make(g, op::sub, high, integer(g, 1)));
  const node_id divisor = make(g, op::maximum, period, integer(g, 1));
  for (int k = 0; k < 2; ++k) {
    const node_id r = g.arg(e, k);
    if (g.kind(r) == op::remainder && g.arg(r, 1) == divisor && make(g, op::sub, period, r) == g.arg(e, 1 - k))
      return g.arg(r, 0);
  }
  return no_node;
}

}  // namespace

node_id clamped_instead(graph& g, node_id subscript, node_id high) {
  const node_id before = before_moving(g, subscript, high);
  if (before == no_node) return subscript;
  const node_id last = make(g, op::sub, high, integer(g, 1));
  return make(g, op::maximum, make(g, op::minimum, before, last), integer(g, 0));
}

ends ends_of(graph& g, node_id e) {
  // It does not go down where what is divided goes up.
  if (g.kind(e) == op::quotient && g.free[g.arg(e, 1)].empty() && proven_less_equal(g, integer(g, 0), g.arg(e, 1))) {
    const node_id by = g.arg(e, 1);
    ends r = ends_of(g, g.arg(e, 0));
    r.least = make(g, op::quotient, r.least, by);
    r.most = make(g, op::quotient, r.most, by);
    return r;
  }
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

std::optional<ends> ends_of_place(graph& g, node_id e, node_id low, node_id high) {
  if (g.kind(e) != op::reduce || !row(monoid_of(g, e)).position || g[e].count != 3 || !is_true(g, g.arg(e, 1)))
    return {};
  const auto closed = [&](node_id idx) { return !is_unbound(g, idx) && is_closed(g, idx); };
  const node_id idx = g.arg(e, 2), first = g.arg(idx, 0), end = g.arg(idx, 1);
  const bool inside = closed(idx) && known_less_equal(g, low, first) && known_less_equal(g, end, high);
  const std::vector<node_id> around = indices_of(g, g.free[e]);
  if (!inside || !std::ranges::all_of(around, closed)) return {};
  const node_id none = make(g, op::less_equal, end, first), last = make(g, op::sub, end, integer(g, 1));
  ends r{make(g, op::select, none, integer(g, -1), first), last, truth(g, true)};
  for (const node_id other : around)
    r.nonempty = conjunction(g, r.nonempty, make(g, op::less, g.arg(other, 0), g.arg(other, 1)));
  return r;
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
