#include <sheaf/jit/plan/extremum_ranges.hpp>

#include <algorithm>

#include <sheaf/dsl/graph/affine.hpp>
#include <sheaf/jit/plan/extremum_sums.hpp>
#include <sheaf/jit/plan/layout.hpp>
#include <sheaf/jit/plan/lengths.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/stages.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

constexpr double ranges_from = 64;   // terms of a sum: fewer are as fast one by one
constexpr double dilated_from = 16;  // the same, where every term is an extremum that nothing else keeps

node_id minus(graph& g, node_id a, node_id b) { return make(g, op::sub, a, b); }

// The place of `walk` at which `value` becomes `other`; no_node: there is none.
node_id meeting_place(graph& g, node_id value, node_id walk, node_id other) {
  if (!uses(g, value, walk)) return no_node;
  if (g.type(value) == element::i64 && (g.kind(value) == op::index || is_elementwise(g.kind(value)))) {
    const line l = split_affine(g, value, walk);
    if (l.affine) return l.slope == 1 ? minus(g, other, l.rest) : no_node;
  }
  if (g.kind(value) != g.kind(other) || g[value].count != g[other].count) return no_node;
  for (int k = g.kind(value) == op::load ? 1 : 0; k < g[value].count; ++k)
    if (const node_id place = meeting_place(g, g.arg(value, k), walk, g.arg(other, k)); place != no_node) return place;
  return no_node;
}

class extremum_ranges {
 public:
  extremum_ranges(graph& g, const facts& known, node_id n, stage& s, std::vector<stage>& before)
      : g(g), known(known), s(s), before(before) {
    t.reduce = n;
    t.bounds = bound_indices(g, n);
  }

  bool operator()() {
    const node_id n = t.reduce;
    if (monoid_of(g, n) != monoid::sum || !has_closed_ranges(g, n)) return false;
    double terms = 1;
    for (const node_id b : t.bounds) terms *= most_places(b);
    if (terms < dilated_from) return false;
    flat<node_id> conditions;
    deltas::conjuncts(g, g.arg(n, 1), conditions);
    for (int c = 0; c < conditions.size(); ++c)
      for (int k = 0; k < 2; ++k) {
        if (g.kind(conditions[c]) != op::equal) continue;
        t.mine = g.arg(conditions[c], k);
        t.key = g.arg(conditions[c], 1 - k);
        t.value = g.arg(n, 0);
        t.condition = deltas::conjunction_without(g, conditions, c);
        if (g.type(t.key) == element::boolean || !varies(t.key) || varies(t.mine)) continue;
        t.own = is_own_range();
        if (!t.own && !is_around()) continue;
        const bool steps_fit = slides_in_steps();
        const double fewest = is_dilated ? dilated_from : ranges_from;
        if (terms < fewest || (t.own && (!steps_fit || terms < fewest * steps))) return false;  // see `tied`
        return t.own && holds(g, t.mine, op::reduce) ? keep_mine() : fold_ties(g, known, t, s, before);
      }
    return false;
  }

 private:
  bool varies(node_id e) const {
    return std::any_of(t.bounds.begin(), t.bounds.end(), [&](node_id b) { return uses(g, e, b); });
  }
  bool keep_mine() {
    const stage like = layout_of(g, known, t.mine, s);
    replacement put(g);
    put.add(t.mine, proven(g, stored(g, t.mine, "materialised", like, before, "ties are compared with it")));
    s.body = put(s.body);
    return true;
  }

  bool is_own_range() {
    const node_id q = seen_through(g, t.mine);
    if (!is_extremum_over_all(q) || !is_true(g, t.condition)) return false;
    const auto list = bound_indices(g, q);
    replacement put(g, proofs::kept);
    for (std::size_t k = 0; k < t.bounds.size(); ++k) {
      if (!known_equal(g, g.arg(list[k], 0), g.arg(t.bounds[k], 0)) ||
          !known_equal(g, g.arg(list[k], 1), g.arg(t.bounds[k], 1)))
        return false;
      put.add(list[k], t.bounds[k]);
    }
    return put(g.arg(q, 0)) == t.key;
  }
  bool is_extremum_over_all(node_id q) {
    if (g.kind(q) != op::reduce || !is_true(g, g.arg(q, 1)) || g[q].count != 2 + static_cast<int>(t.bounds.size()))
      return false;
    t.extremum = monoid_of(g, q);
    return t.extremum == monoid::max || t.extremum == monoid::min;
  }

  // Of a range that is not cut.
  double most_places(node_id bound) {
    const node_id over = over_of(g, bound);
    if (over == no_node) return known.trips(bound);
    const length l = length_of(g, mover_of(g, g.arg(bound, 0), over), mover_of(g, g.arg(bound, 1), over));
    if (l.known) return static_cast<double>(l.least) + (l.uneven ? 0.5 : 0);
    const node_id low = number_in(g.arg(bound, 0), op::maximum), high = number_in(g.arg(bound, 1), op::minimum);
    if (low == no_node || high == no_node) return known.trips(bound);
    return static_cast<double>(g[high].attribute - g[low].attribute);
  }
  // An arm of a bound.
  node_id number_in(node_id bound, op limit) const {
    if (is_constant(g, bound)) return bound;
    for (int k = 0; g.kind(bound) == limit && k < 2; ++k)
      if (const node_id found = number_in(g.arg(bound, k), limit); found != no_node) return found;
    return no_node;
  }
  // Do all its ranges slide: one alone by more than an element, or dilated?
  bool slides_in_steps() {
    const node_id keys = intern_reduce(g, t.extremum, g.type(t.key), t.key, truth(g, true), t.bounds);
    steps = 1;
    is_dilated = false;
    bool all = true, plain = t.bounds.size() == 1;
    for (const node_id b : t.bounds) {
      const sliding r = slides(g, keys, b);
      all = all && r.over != no_node;
      if (!all) break;
      is_dilated = is_dilated || r.step != 1;
      if (r.step != 1) continue;
      const std::int64_t low = bound_of(g, r.low, r.over).slope, high = bound_of(g, r.high, r.over).slope;
      steps *= static_cast<double>(std::max<std::int64_t>(1, low));
      plain = plain && low == 1 && high == 1;
    }
    return all && (is_dilated || !plain);
  }

  // The keys are extrema over ranges each of which holds `mine`.
  bool is_around() {
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
      inner = with(g, inner, b, places.back(), proofs::kept);
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
    for (std::size_t k = 0; k < walks.size(); ++k) inner = with(g, inner, walks[k], found[k], proofs::kept);
    t.extremum = t.extremum == monoid::max ? monoid::min : monoid::max;
    return inner == t.mine;
  }
  // Is the place of `mine` in all ranges that the keys of this place have?
  bool holds_place(const sliding& r, node_id b, node_id place) {
    const node_id begin = with(g, r.low, r.over, plus(g, g.arg(b, 1), -1)), end = with(g, r.high, r.over, g.arg(b, 0));
    return proven_less_equal(g, begin, place) && proven_less_equal(g, plus(g, place, 1), end);
  }
  // Of a range around c = over + step * u it is c - step * (u + more), one of its elements and within what it is cut
  // to.
  bool holds_place(const sliding& r, const sliding& outer, node_id place) {
    const node_id ahead = minus(g, place, outer.over);
    if (r.step != -outer.step || !is_constant(g, ahead) || g[ahead].attribute % r.step != 0) return false;
    const std::int64_t more = g[ahead].attribute / r.step;
    if (g[r.low].attribute > g[outer.low].attribute + more || g[r.high].attribute < g[outer.high].attribute + more)
      return false;
    const node_id last = g.kind(r.last) == op::select ? g.arg(r.last, 1) : r.last;  // there is a c
    return proven_less_equal(g, r.first, place) && proven_less_equal(g, plus(g, place, 1), last);
  }

  graph& g;
  const facts& known;
  stage& s;
  std::vector<stage>& before;
  extremum_sum_of t;
  double steps = 1;  // elements of the keys for each result
  bool is_dilated = false;
};

}  // namespace

bool take_extremum_ranges(graph& g, const facts& known, node_id n, stage& s, std::vector<stage>& before) {
  return extremum_ranges(g, known, n, s, before)();
}

}  // namespace sheaf::inline v0_1::plan
