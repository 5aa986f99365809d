#include <sheaf/jit/plan/algorithms/extremum/extremum_ties.hpp>

#include <algorithm>

#include <sheaf/dsl/graph/affine.hpp>
#include <sheaf/jit/plan/rewrite.hpp>

namespace sheaf::inline v0_1::plan {

node_id over_of(const graph& g, node_id bound) {
  node_id over = no_node;
  for (const node_id idx : indices_of(g, g.free[bound])) {
    if (idx == bound) continue;
    if (over != no_node) return no_node;
    over = idx;
  }
  return over;
}

namespace {

// What a load of a definition stands for.
node_id seen_through(graph& g, node_id n) {
  if (g.kind(n) != op::load || g.kind(g.arg(n, 0)) != op::define) return n;
  std::vector<node_id> subscripts = arguments(g, n, 1);
  return inlined(g, g.arg(n, 0), subscripts.data());
}

// As known_less_equal, where b is the least of some.
bool not_above(graph& g, node_id a, node_id b) {
  if (g.kind(b) == op::minimum) return not_above(g, a, g.arg(b, 0)) && not_above(g, a, g.arg(b, 1));
  return known_less_equal(g, a, b);
}

// The place of `walk` at which `value` becomes `other`; no_node: there is none.
node_id meeting_place(graph& g, node_id value, node_id walk, node_id other) {
  if (!uses(g, value, walk)) return no_node;
  if (g.type(value) == element::i64 && (g.kind(value) == op::index || is_elementwise(g.kind(value)))) {
    const line l = split_affine(g, value, walk);
    if (l.affine) return l.slope == 1 ? make(g, op::sub, other, l.rest) : no_node;
  }
  if (g.kind(value) != g.kind(other) || g[value].count != g[other].count) return no_node;
  for (int k = g.kind(value) == op::load ? 1 : 0; k < g[value].count; ++k)
    if (const node_id place = meeting_place(g, g.arg(value, k), walk, g.arg(other, k)); place != no_node) return place;
  return no_node;
}

class recogniser {
 public:
  recogniser(graph& g, extremum_ties& t, node_id condition) : g(g), t(t), condition(condition) {}

  bool operator()() { return is_own_range() || is_around(); }

 private:
  bool is_own_range() {
    const node_id q = seen_through(g, t.mine);
    if (!is_extremum_over_all(q) || !is_true(g, condition)) return false;
    const auto list = bound_indices(g, q);
    replacement put(g);
    for (std::size_t k = 0; k < t.bounds.size(); ++k) {
      if (!known_equal(g, g.arg(list[k], 0), g.arg(t.bounds[k], 0)) ||
          !known_equal(g, g.arg(list[k], 1), g.arg(t.bounds[k], 1)))
        return false;
      put.add(list[k], t.bounds[k]);
    }
    return t.own = is_same(g, put(g.arg(q, 0)), t.key);
  }
  bool is_extremum_over_all(node_id q) {
    if (!is_extremum(g, q) || !is_true(g, g.arg(q, 1)) || g[q].count != 2 + static_cast<int>(t.bounds.size()))
      return false;
    t.extremum = monoid_of(g, q);
    return true;
  }

  // The keys are extrema over ranges each of which holds `mine`.
  bool is_around() {
    if (!is_extremum(g, seen_through(g, t.key))) return false;  // asked first: what follows makes indices
    node_id inner = t.key;
    std::vector<node_id> places;  // of the keys: the bound indices over closed ranges
    std::vector<sliding> outer;
    std::vector<node_id> open = t.bounds;
    for (const node_id b : t.bounds) {
      const node_id over = over_of(g, b);
      if (over == no_node) return false;
      const node_id keys = intern_reduce(g, monoid::max, g.type(inner), inner, truth(g, true), open);
      std::erase(open, b);
      outer.push_back(dilated_along(g, keys, over, b));
      if (outer.back().over != no_node) {
        const walked w = value_along(g, outer.back());
        places.push_back(w.walk);
        inner = open.empty() ? w.value : g.arg(w.value, 0);
        continue;
      }
      const node_id first = with(g, g.arg(b, 0), over, g.arg(over, 0));
      const node_id last = with(g, g.arg(b, 1), over, plus(g, g.arg(over, 1), -1));
      places.push_back(fresh_index(g, b, first, last));
      inner = with(g, inner, b, places.back());
    }
    inner = seen_through(g, inner);
    return is_extremum_over_all(inner) && holds_mine(inner, places, outer);
  }
  bool holds_mine(node_id inner, const std::vector<node_id>& places, const std::vector<sliding>& outer) {
    std::vector<node_id> walks, found, open = bound_indices(g, inner);
    for (std::size_t k = 0; k < places.size(); ++k) {
      sliding r;
      for (std::size_t j = 0; j < open.size() && r.over == no_node; ++j)
        r = outer[k].over != no_node ? dilated_along(g, inner, places[k], open[j])
                                     : sliding_along(g, inner, places[k], open[j]);
      if (r.over == no_node) return false;
      std::erase(open, r.bound);
      const walked w = value_along(g, r);
      walks.push_back(w.walk);
      node_id body = w.value;
      while (g.kind(body) == op::reduce) body = g.arg(body, 0);
      found.push_back(meeting_place(g, body, w.walk, t.mine));
      if (found.back() == no_node) return false;
      const bool held =
          r.step != 1 ? holds_place(r, outer[k], found.back()) : holds_place(r, t.bounds[k], found.back());
      if (!held) return false;
      inner = w.value;
    }
    for (std::size_t k = 0; k < walks.size(); ++k) inner = with(g, inner, walks[k], found[k]);
    t.extremum = t.extremum == monoid::max ? monoid::min : monoid::max;
    return is_same(g, inner, t.mine);
  }
  bool proven(node_id a, node_id b) { return not_above(g, a, b) || proven_less_equal(g, a, b); }
  // Is the place of `mine` in all ranges that the keys of this place have?
  bool holds_place(const sliding& r, node_id b, node_id place) {
    const node_id begin = with(g, r.low, r.over, plus(g, g.arg(b, 1), -1)), end = with(g, r.high, r.over, g.arg(b, 0));
    return proven(begin, place) && proven(plus(g, place, 1), end);
  }
  // Of a range around c = over + step * u it is c - step * (u + more), one of its elements and within what it is cut
  // to.
  bool holds_place(const sliding& r, const sliding& outer, node_id place) {
    const node_id ahead = make(g, op::sub, place, outer.over);
    if (r.step != -outer.step || !is_constant(g, ahead) || g[ahead].attribute % r.step != 0) return false;
    const std::int64_t more = g[ahead].attribute / r.step;
    if (g[r.low].attribute > g[outer.low].attribute + more || g[r.high].attribute < g[outer.high].attribute + more)
      return false;
    const node_id last = g.kind(r.last) == op::select ? g.arg(r.last, 1) : r.last;  // there is a c
    return proven_less_equal(g, r.first, place) && proven_less_equal(g, plus(g, place, 1), last);
  }

  graph& g;
  extremum_ties& t;
  node_id condition;  // without the equality
};

}  // namespace

extremum_ties extremum_ties_of(graph& g, node_id n) {
  if (monoid_of(g, n) != monoid::sum || !has_closed_ranges(g, n)) return {};
  extremum_ties t;
  t.reduce = n;
  t.bounds = bound_indices(g, n);
  t.value = g.arg(n, 0);
  const auto varies = [&](node_id e) {
    return std::ranges::any_of(t.bounds, [&](node_id b) { return uses(g, e, b); });
  };
  flat<node_id> conditions;
  deltas::conjuncts(g, g.arg(n, 1), conditions);
  for (int c = 0; c < conditions.size(); ++c)
    for (int k = 0; k < 2; ++k) {
      if (g.kind(conditions[c]) != op::equal) continue;
      t.mine = g.arg(conditions[c], k);
      t.key = g.arg(conditions[c], 1 - k);
      if (g.type(t.key) == element::boolean || !varies(t.key) || varies(t.mine)) continue;
      const node_id condition = deltas::conjunction_without(g, conditions, c);
      if (!recogniser(g, t, condition)()) continue;
      t.value = make(g, op::select, condition, t.value, number_like(g, t.value, 0));
      return t;
    }
  return {};
}

// Of the same number, or NaN where that may be one.
static node_id same_number(graph& g, node_id a, node_id b, bool nan) {
  const node_id equal = make(g, op::equal, a, b);
  if (!nan || !is_floating(g.type(a))) return equal;
  const node_id both = conjunction(g, make(g, op::not_equal, a, a), make(g, op::not_equal, b, b));
  return make(g, op::logical_or, equal, both);
}

monoid extremum_with(graph& g, monoid extremum, element key, monoid fold, element value) {
  const auto operand = [&](element type, int k) { return g.intern(op::operand, type, k, nullptr, 0); };
  const node_id k = operand(key, 0), v = operand(value, 1), l = operand(key, 2), w = operand(value, 3);
  const node_id top = make(g, row(extremum).combine, k, l), none = identity_of(g, fold, value);
  const bool nan = fold != monoid::sum;
  const node_id left = make(g, op::select, same_number(g, k, top, nan), v, none);
  const node_id right = make(g, op::select, same_number(g, l, top, nan), w, none);
  const name_id name = g.name("extremum_with", 13);
  const own_monoid_row rows[2] = {
      {name, key, identity_of(g, extremum, key), top, no_node, 0, 2, false},
      {name, value, none, make(g, row(fold).combine, left, right), no_node, 1, 2, false},
  };
  for (int n = 0; n + 1 < g.monoids.size(); ++n)
    if (g.monoids[n].combine == rows[0].combine && g.monoids[n].width == 2 && g.monoids[n].component == 0 &&
        g.monoids[n + 1].combine == rows[1].combine)
      return own_kind(n);
  for (const own_monoid_row& each : rows) g.monoids.push(each);
  return own_kind(g.monoids.size() - 2);
}

node_id as_compared(graph& g, node_id e) {
  const element type = g.type(e);
  if (!is_half(type) || !is_elementwise(g.kind(e)) || g.kind(e) == op::cast) return e;
  return cast_to(g, type, cast_to(g, element::f32, e));
}

sliding window_of(graph& g, const extremum_ties& t, node_id beside) {
  if (t.reduce == no_node || t.bounds.size() != 1) return {};
  const node_id keys = intern_reduce(g, monoid::max, g.type(t.key), t.key, truth(g, true), t.bounds);
  sliding r = sliding_of(g, keys);
  if (r.over == no_node || !uses(g, t.mine, r.over)) return {};
  r = sliding_along(g, keys, r.over, r.bound, beside);
  if (r.over == no_node) return {};
  if (t.own) return holds(g, t.key, op::reduce) ? sliding{} : r;
  const bound_line from = bound_of(g, r.low, r.over), to = bound_of(g, r.high, r.over);
  const bool moves = r.stride == 0 && from.affine && to.affine && from.slope == 1 && to.slope == 1;
  return moves && cuts_only(g, r) ? r : sliding{};
}

}  // namespace sheaf::inline v0_1::plan
