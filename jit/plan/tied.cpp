#include <sheaf/jit/plan/tied.hpp>

#include <optional>

#include <sheaf/dsl/graph/affine.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/scans.hpp>
#include <sheaf/jit/plan/stages.hpp>
#include <sheaf/jit/plan/windows.hpp>

namespace sheaf::inline v0_1::plan {

node_id with(graph& g, node_id e, node_id from, node_id to) {
  replacement put(g);
  put.add(from, to);
  return put(e);
}

node_id seen_through(graph& g, node_id n) {
  if (g.kind(n) != op::load || g.kind(g.arg(n, 0)) != op::define) return n;
  std::vector<node_id> subscripts;
  for (int k = 1; k < g[n].count; ++k) subscripts.push_back(g.arg(n, k));
  return inlined(g, g.arg(n, 0), subscripts.data());
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
          with(g, stored, idx, walk) != value)
        continue;
      std::vector<node_id> subscripts = made.indices;
      subscripts[d] = walk;
      return load(g, made.define, subscripts.data(), static_cast<int>(subscripts.size()));
    }
  return no_node;
}

namespace {

bool uses(const graph& g, node_id e, node_id idx) { return g.free[e].has(g.ordinal(idx)); }

// As known_less_equal, where b is the least of some.
bool not_above(graph& g, node_id a, node_id b) {
  if (g.kind(b) == op::minimum) return not_above(g, a, g.arg(b, 0)) && not_above(g, a, g.arg(b, 1));
  return known_less_equal(g, a, b);
}

node_id plus(graph& g, node_id a, node_id b, std::int64_t n = 0) {
  return make(g, op::add, make(g, op::add, a, b), integer(g, n));
}

// mine is the extremum over this very range of these keys.
bool over_own_range(graph& g, tied& found, node_id bound) {
  const node_id q = seen_through(g, found.mine);
  if (!is_extremum(g, q) || !is_true(g, found.condition)) return false;
  const node_id v = bound_indices(g, q)[0];
  if (!known_equal(g, g.arg(v, 0), g.arg(bound, 0)) || !known_equal(g, g.arg(v, 1), g.arg(bound, 1))) return false;
  found.extremum = monoid_of(g, q);
  return with(g, g.arg(q, 0), v, bound) == found.key;
}

// The keys are extrema over windows all of which hold `mine`.
bool over_windows_around(graph& g, tied& found, node_id bound) {
  const sliding& r = found.keys;
  const bound_line from = bound_of(g, r.low, r.over), to = bound_of(g, r.high, r.over);
  if (r.stride != 0 || !from.affine || !to.affine || from.slope != 1 || to.slope != 1 || !cuts_only(g, r)) return false;
  const node_id t = fresh_index(g, bound, r.first, r.last);
  const node_id q = seen_through(g, with(g, found.key, bound, t));
  if (!is_extremum(g, q)) return false;
  sliding inner = sliding_of(g, q);
  if (inner.over != t || !cuts_only(g, inner)) return false;
  const bound_line low = bound_of(g, inner.low, t), high = bound_of(g, inner.high, t);
  if (!low.affine || !high.affine || low.slope != 1 || high.slope != 1) return false;
  // The last window's first place, which no later place of the first window may precede.
  const node_id last = plus(g, r.over, to.rest, -1), first = plus(g, r.over, from.rest);
  const node_id place = plus(g, last, low.rest);
  const auto proven = [&](node_id a, node_id b) { return not_above(g, a, b) || proven_less_equal(g, a, b); };
  if (!proven(with(g, inner.low, t, last), place)) return false;
  if (!proven(plus(g, place, integer(g, 1)), with(g, inner.high, t, first))) return false;
  trust unused;
  const walked w = value_along(g, inner, unused);
  found.extremum = monoid_of(g, q) == monoid::max ? monoid::min : monoid::max;
  return with(g, w.value, w.walk, place) == found.mine;
}

// The value as it lies along the range, of the same places as the keys.
std::optional<walked> values_along(graph& g, const tied& found, node_id walk, trust& trusted) {
  const node_id n = found.reduce, bound = bound_indices(g, n)[0];
  const node_id whole = intern_reduce(g, monoid::sum, g.type(n), found.value, found.condition, {bound});
  if (!uses(g, found.value, bound) && !uses(g, found.condition, bound)) {
    if (uses(g, found.value, found.keys.over)) return std::nullopt;
    return walked{walk, found.value};
  }
  const sliding r = sliding_of(g, whole);
  if (r.over != found.keys.over || r.bound != bound || r.stride != found.keys.stride) return std::nullopt;
  const walked w = value_along(g, r, trusted);
  return walked{walk, with(g, w.value, w.walk, walk)};
}

// Of an element that holds a reduction: it is stored along the range, and read from there.
node_id kept_along(graph& g, const facts& known, const tied& found, node_id walk, node_id value, const stage& s,
                   std::vector<stage>& before, trust& trusted) {
  node_id kept = known_as(g, value, walk, before);
  const sliding& r = found.keys;
  stage like = layout_of(g, known, value, s);
  if (!s.indices.empty() && s.indices.back() == r.over) like.vector = walk;
  if (kept == no_node)
    kept = stored(g, value, "kept", like, before, "windows that overlap read it: it is computed once");
  const node_id place = plus(g, make(g, op::mul, r.over, integer(g, r.stride)), r.bound);
  const node_id here = with(g, kept, walk, place);
  trusted.insert(kept);
  trusted.insert(here);
  return here;
}

// sum(a / c) is sum(a) / c where c counts the terms: 0 where there are none.
node_id without_count(graph& g, node_id n) {
  const node_id body = g.arg(n, 0);
  if (g.kind(body) != op::div || !is_floating(g.type(body))) return n;
  node_id count = g.arg(body, 1);
  while (g.kind(count) == op::cast) count = g.arg(count, 0);
  const bool counts = g.kind(count) == op::reduce && monoid_of(g, count) == monoid::sum &&
                      is_number(g, g.arg(count, 0), 1) && g.arg(count, 1) == g.arg(n, 1) &&
                      bound_indices(g, count) == bound_indices(g, n);
  if (!counts) return n;
  const node_id sum = intern_reduce(g, monoid::sum, g.type(n), g.arg(body, 0), g.arg(n, 1), bound_indices(g, n));
  const node_id none = make(g, op::equal, count, integer(g, 0));
  return make(g, op::select, none, number_like(g, sum, 0), make(g, op::div, sum, g.arg(body, 1)));
}

}  // namespace

tied tied_of(graph& g, node_id n) {
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

bool take_tied(graph& g, const facts& known, node_id n, stage& s, std::vector<stage>& before, trust& trusted) {
  const tied found = tied_of(g, n);
  if (found.reduce == no_node) return false;
  const auto instead = [&](node_id from, node_id to) {
    replacement put(g);
    put.add(from, to);
    s.body = put(s.body);
    return true;
  };
  if (const node_id sum = without_count(g, n); sum != n) return instead(n, sum);
  if (holds(g, found.mine, op::reduce)) {
    const node_id kept =
        stored(g, found.mine, "kept", layout_of(g, known, found.mine, s), before, "ties are compared with it");
    trusted.insert(kept);
    return instead(found.mine, kept);
  }
  trust own = trusted;
  const walked keys = value_along(g, found.keys, own);
  const auto values = values_along(g, found, keys.walk, own);
  if (!values) return false;
  if (!holds(g, keys.value, op::reduce) && !holds(g, values->value, op::reduce))
    return take_tied_window(g, known, found, keys, values->value, s, before, trusted);
  trusted.insert(own.begin(), own.end());
  node_id key = found.key, value = values->value, read = found.value, condition = found.condition;
  if (holds(g, keys.value, op::reduce)) {
    key = kept_along(g, known, found, keys.walk, keys.value, s, before, trusted);
    const node_id kept = with(
        g, key, plus(g, make(g, op::mul, found.keys.over, integer(g, found.keys.stride)), found.keys.bound), keys.walk);
    value = with(g, value, keys.value, kept);
  }
  if (holds(g, value, op::reduce)) {
    read = kept_along(g, known, found, keys.walk, value, s, before, trusted);
    condition = truth(g, true);  // what fails it is stored as 0
  }
  const node_id equality = make(g, op::equal, found.mine, key);
  return instead(
      n, intern_reduce(g, monoid::sum, g.type(n), read, conjunction(g, condition, equality), {found.keys.bound}));
}

}  // namespace sheaf::inline v0_1::plan
