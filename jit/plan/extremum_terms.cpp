#include <sheaf/jit/plan/extremum_terms.hpp>

#include <optional>

#include <sheaf/dsl/graph/affine.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/stages.hpp>

namespace sheaf::inline v0_1::plan {

node_id with(graph& g, node_id e, node_id from, node_id to, proofs of_loads) {
  replacement put(g, of_loads);
  put.add(from, to);
  return put(e);
}

node_id seen_through(graph& g, node_id n) {
  if (g.kind(n) != op::load || g.kind(g.arg(n, 0)) != op::define) return n;
  std::vector<node_id> subscripts;
  for (int k = 1; k < g[n].count; ++k) subscripts.push_back(g.arg(n, k));
  return inlined(g, g.arg(n, 0), subscripts.data(), proofs::kept);
}

bool is_extremum(const graph& g, node_id q) {
  return g.kind(q) == op::reduce && (monoid_of(g, q) == monoid::max || monoid_of(g, q) == monoid::min) &&
         is_true(g, g.arg(q, 1)) && g[q].count == 3;
}

node_id known_as(graph& g, node_id value, node_id walk, const std::vector<stage>& before) {
  for (const stage& made : before)
    for (std::size_t d = 0; d < made.indices.size(); ++d) {
      const node_id idx = made.indices[d];
      const bool reaches =
          known_less_equal(g, g.arg(idx, 0), g.arg(walk, 0)) && known_less_equal(g, g.arg(walk, 1), g.arg(idx, 1));
      const node_id stored = g.arg(made.define, 0);
      if (!reaches || g.type(made.define) != g.type(value) || !names_all(g, stored, made.indices) ||
          with(g, stored, idx, walk, proofs::kept) != value)
        continue;
      std::vector<node_id> subscripts = made.indices;
      subscripts[d] = walk;
      return load(g, made.define, subscripts.data(), static_cast<int>(subscripts.size()));
    }
  return no_node;
}

namespace {

// As known_less_equal, where b is the least of some.
bool not_above(graph& g, node_id a, node_id b) {
  if (g.kind(b) == op::minimum) return not_above(g, a, g.arg(b, 0)) && not_above(g, a, g.arg(b, 1));
  return known_less_equal(g, a, b);
}

node_id sum_of(graph& g, node_id a, node_id b, std::int64_t n = 0) {
  return make(g, op::add, make(g, op::add, a, b), integer(g, n));
}

// mine is the extremum over this very range of these keys.
bool over_own_range(graph& g, tied& found, node_id bound) {
  const node_id q = seen_through(g, found.mine);
  if (!is_extremum(g, q) || !is_true(g, found.condition)) return false;
  const node_id v = bound_indices(g, q)[0];
  if (!known_equal(g, g.arg(v, 0), g.arg(bound, 0)) || !known_equal(g, g.arg(v, 1), g.arg(bound, 1))) return false;
  found.extremum = monoid_of(g, q);
  return with(g, g.arg(q, 0), v, bound, proofs::kept) == found.key;
}

// The keys are extrema over windows all of which hold `mine`.
bool over_windows_around(graph& g, tied& found, node_id bound) {
  const sliding& r = found.keys;
  const bound_line from = bound_of(g, r.low, r.over), to = bound_of(g, r.high, r.over);
  if (r.stride != 0 || !from.affine || !to.affine || from.slope != 1 || to.slope != 1 || !cuts_only(g, r)) return false;
  const node_id t = fresh_index(g, bound, r.first, r.last);
  const node_id q = seen_through(g, with(g, found.key, bound, t, proofs::kept));
  if (!is_extremum(g, q)) return false;
  sliding inner = sliding_of(g, q);
  if (inner.over != t || !cuts_only(g, inner)) return false;
  const bound_line low = bound_of(g, inner.low, t), high = bound_of(g, inner.high, t);
  if (!low.affine || !high.affine || low.slope != 1 || high.slope != 1) return false;
  // The last window's first place, which no later place of the first window may precede.
  const node_id last = sum_of(g, r.over, to.rest, -1), first = sum_of(g, r.over, from.rest);
  const node_id place = sum_of(g, last, low.rest);
  const auto proven = [&](node_id a, node_id b) { return not_above(g, a, b) || proven_less_equal(g, a, b); };
  if (!proven(with(g, inner.low, t, last), place)) return false;
  if (!proven(plus(g, place, 1), with(g, inner.high, t, first))) return false;
  const walked w = value_along(g, inner);
  found.extremum = monoid_of(g, q) == monoid::max ? monoid::min : monoid::max;
  return with(g, w.value, w.walk, place, proofs::kept) == found.mine;
}

}  // namespace

tied extremum_terms_of(graph& g, node_id n) {
  const auto list = bound_indices(g, n);
  if (monoid_of(g, n) != monoid::sum || list.size() != 1 || !has_closed_ranges(g, n)) return {};
  const node_id bound = list[0];
  flat<node_id> conditions;
  deltas::conjuncts(g, g.arg(n, 1), conditions);
  for (int c = 0; c < conditions.size(); ++c)
    for (int k = 0; k < 2; ++k) {
      if (g.kind(conditions[c]) != op::equal) continue;
      tied found;
      found.reduce = n;
      found.mine = g.arg(conditions[c], k);
      found.key = g.arg(conditions[c], 1 - k);
      found.value = g.arg(n, 0);
      found.condition = deltas::conjunction_without(g, conditions, c);
      if (uses(g, found.mine, bound) || !uses(g, found.key, bound) || g.type(found.key) == element::boolean) continue;
      const node_id keys = intern_reduce(g, monoid::max, g.type(found.key), found.key, truth(g, true), {bound});
      found.keys = sliding_of(g, keys);
      if (found.keys.over == no_node || !uses(g, found.mine, found.keys.over)) continue;
      if (over_own_range(g, found, bound) ? !holds(g, found.key, op::reduce) : over_windows_around(g, found, bound))
        return found;
    }
  return {};
}

}  // namespace sheaf::inline v0_1::plan
