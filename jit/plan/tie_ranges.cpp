#include <sheaf/jit/plan/tie_ranges.hpp>

#include <algorithm>
#include <optional>

#include <sheaf/dsl/graph/affine.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/scans.hpp>
#include <sheaf/jit/plan/stages.hpp>

namespace sheaf::plan {

namespace {

constexpr double ranges_from = 64;  // terms of a sum: fewer are as fast one by one

bool uses(const graph& g, node_id e, node_id idx) { return g.free[e].has(g.ordinal(idx)); }
node_id plus(graph& g, node_id e, std::int64_t n) { return make(g, op::add, e, integer(g, n)); }
node_id minus(graph& g, node_id a, node_id b) { return make(g, op::sub, a, b); }
element wide(element type) { return type == element::f16 || type == element::bf16 ? element::f32 : type; }

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

// One index of the sum, along the index outside that its range slides with.
struct dimension {
  node_id bound, over, walk;
  node_id low, high, first, last;  // of the walk, in `over`; for all of them
};

class tie_ranges {
 public:
  tie_ranges(graph& g, const facts& known, node_id n, stage& s, std::vector<stage>& before, trust& trusted)
      : g(g), known(known), n(n), bounds(bound_indices(g, n)), s(s), before(before), trusted(trusted) {}

  bool operator()() {
    if (monoid_of(g, n) != monoid::sum || !has_closed_ranges(g, n)) return false;
    double terms = 1;
    for (const node_id b : bounds) terms *= most_places(b);
    flat<node_id> conditions;
    deltas::conjuncts(g, g.arg(n, 1), conditions);
    for (int c = 0; terms >= ranges_from && c < conditions.size(); ++c)
      for (int k = 0; k < 2; ++k) {
        if (g.kind(conditions[c]) != op::equal) continue;
        mine = g.arg(conditions[c], k);
        key = g.arg(conditions[c], 1 - k);
        value = g.arg(n, 0);
        condition = deltas::conjunction_without(g, conditions, c);
        if (g.type(key) == element::boolean || !varies(key) || varies(mine)) continue;
        const bool own = is_own_range();
        if (!own && !is_around()) continue;
        if (own && (!slides_in_steps() || terms < ranges_from * steps)) return false;  // see `tied`
        return own && holds(g, mine, op::reduce) ? keep_mine() : fold(own);
      }
    return false;
  }

 private:
  bool varies(node_id e) const {
    return std::any_of(bounds.begin(), bounds.end(), [&](node_id b) { return uses(g, e, b); });
  }
  bool instead(node_id from, node_id to) {
    replacement put(g);
    put.add(from, to);
    s.body = put(s.body);
    return true;
  }
  bool keep_mine() {
    const node_id kept = stored(g, mine, "kept", layout_of(g, known, mine, s), before, "ties are compared with it");
    trusted.insert(kept);
    return instead(mine, kept);
  }
  node_id keep(node_id e, const char* name, const char* reason) {
    if (g.kind(e) == op::load && g.kind(g.arg(e, 0)) == op::define) return e;
    for (const dimension& d : dimensions)
      if (uses(g, e, d.walk))
        if (const node_id found = known_as(g, e, d.walk, before); found != no_node) {
          trusted.insert(found);
          return found;
        }
    const node_id kept = stored(g, e, name, layout(e), before, reason);
    trusted.insert(kept);
    return kept;
  }
  // Memory runs along what goes over the stage's last index, also where that is read in steps.
  stage layout(node_id e, node_id place = no_node) {
    stage like = s;
    const dimension* last = nullptr;
    std::ptrdiff_t rank = -1;
    for (const dimension& d : dimensions) {
      const auto at = std::find(s.indices.begin(), s.indices.end(), d.over) - s.indices.begin();
      if (at > rank && at < static_cast<std::ptrdiff_t>(s.indices.size())) rank = at, last = &d;
    }
    if (last == nullptr) return layout_of(g, known, e, s);
    for (const node_id idx : {last->walk, last->over, place})
      if (idx != no_node && uses(g, e, idx)) {
        like.vector = idx;
        return like;
      }
    return layout_of(g, known, e, s);
  }
  node_id moved(node_id load, node_id idx, node_id place) {
    const node_id there = with(g, load, idx, place);
    trusted.insert(there);
    return there;
  }

  // ---- what the sum is

  bool is_own_range() {
    const node_id q = seen_through(g, mine);
    if (!is_extremum_over_all(q) || !is_true(g, condition)) return false;
    const auto list = bound_indices(g, q);
    replacement put(g);
    for (std::size_t k = 0; k < bounds.size(); ++k) {
      if (!known_equal(g, g.arg(list[k], 0), g.arg(bounds[k], 0)) ||
          !known_equal(g, g.arg(list[k], 1), g.arg(bounds[k], 1)))
        return false;
      put.add(list[k], bounds[k]);
    }
    return put(g.arg(q, 0)) == key;
  }
  bool is_extremum_over_all(node_id q) {
    if (g.kind(q) != op::reduce || !is_true(g, g.arg(q, 1)) || g[q].count != 2 + static_cast<int>(bounds.size()))
      return false;
    extremum = monoid_of(g, q);
    return extremum == monoid::max || extremum == monoid::min;
  }

  // Of a range that is not cut.
  double most_places(node_id bound) {
    const node_id over = over_of(bound);
    if (over == no_node) return known.trips(bound);
    const length l = length_of(mover_of(g.arg(bound, 0), over), mover_of(g.arg(bound, 1), over));
    return l.known ? static_cast<double>(l.least) + (l.uneven ? 0.5 : 0) : known.trips(bound);
  }
  // The index outside that the range of a bound index goes with.
  node_id over_of(node_id bound) const {
    node_id over = no_node;
    for (const node_id idx : indices_of(g, g.free[bound])) {
      if (idx == bound) continue;
      if (over != no_node) return no_node;
      over = idx;
    }
    return over;
  }
  // The keys are extrema over ranges each of which holds `mine`.
  bool is_around() {
    replacement put(g);
    std::vector<node_id> places;  // of the keys: the bound indices over closed ranges
    for (const node_id b : bounds) {
      const node_id over = over_of(b);
      if (over == no_node) return false;
      const node_id first = with(g, g.arg(b, 0), over, g.arg(over, 0));
      const node_id last = with(g, g.arg(b, 1), over, plus(g, g.arg(over, 1), -1));
      places.push_back(fresh_index(g, b, first, last));
      put.add(b, places.back());
    }
    node_id inner = seen_through(g, put(key));
    if (!is_extremum_over_all(inner)) return false;
    const auto list = bound_indices(g, inner);
    std::vector<node_id> walks;
    for (std::size_t k = 0; k < list.size(); ++k) {
      const sliding r = sliding_along(g, inner, places[k], list[k]);
      if (r.over == no_node) return false;
      const walked w = value_along(g, r, unused);
      walks.push_back(w.walk);
      if (!holds_whatever(r, k, w)) return false;
      inner = w.value;
    }
    for (std::size_t k = 0; k < walks.size(); ++k) inner = with(g, inner, walks[k], found_places[k]);
    extremum = extremum == monoid::max ? monoid::min : monoid::max;
    return inner == mine;
  }
  // Is the place of `mine` in all ranges that the keys of this place have?
  bool holds_whatever(const sliding& r, std::size_t k, const walked& w) {
    node_id body = w.value;
    while (g.kind(body) == op::reduce) body = g.arg(body, 0);
    const node_id place = meeting_place(g, body, w.walk, mine), b = bounds[k];
    if (place == no_node) return false;
    found_places.resize(k + 1);
    found_places[k] = place;
    const node_id begin = with(g, r.low, r.over, plus(g, g.arg(b, 1), -1)), end = with(g, r.high, r.over, g.arg(b, 0));
    return proven_less_equal(g, begin, place) && proven_less_equal(g, plus(g, place, 1), end);
  }

  // A range of one size goes with the index beside which the bound one stands in subscripts.
  sliding slides(node_id keys, node_id bound) {
    const node_id over = over_of(bound);
    if (over != no_node) return sliding_along(g, keys, over, bound);
    for (const node_id idx : indices_of(g, g.free[keys]))
      if (sliding r = sliding_along(g, keys, idx, bound); r.over != no_node) return r;
    return {};
  }
  // Does each of its ranges slide, and one alone by more than an element?
  bool slides_in_steps() {
    const node_id keys = whole(extremum, key, bounds);
    steps = 1;
    return std::all_of(bounds.begin(), bounds.end(), [&](node_id b) {
      const sliding r = slides(keys, b);
      if (r.over != no_node) steps *= static_cast<double>(std::max<std::int64_t>(1, bound_of(g, r.low, r.over).slope));
      if (r.over == no_node || bounds.size() > 1) return r.over != no_node;
      return bound_of(g, r.low, r.over).slope != 1 || bound_of(g, r.high, r.over).slope != 1;
    });
  }

  // ---- the sum, one index at a time

  node_id whole(monoid kind, node_id body, const std::vector<node_id>& list) {
    return intern_reduce(g, kind, g.type(body), body, truth(g, true), list);
  }
  // Keys and values as they lie along the walks.
  bool lay_out() {
    node_id keys = whole(extremum, key, bounds);
    const bool same = !varies(value);
    node_id values = whole(monoid::sum, value, bounds);
    for (const node_id b : bounds) {
      const sliding r = slides(keys, b);
      if (r.over == no_node) return false;
      const node_id over = r.over;
      const walked w = value_along(g, r, trusted);
      keys = w.value;
      if (!same) {
        const sliding also = sliding_along(g, values, over, b);
        if (also.over == no_node || also.stride != r.stride) return false;
        const walked v = value_along(g, also, trusted);
        values = with(g, v.value, v.walk, w.walk);
      } else if (uses(g, value, over)) {
        return false;
      }
      dimensions.push_back({b, over, w.walk, r.low, r.high, r.first, r.last});
    }
    key = keys;
    if (!same) value = values;
    return true;
  }

  bool fold(bool own) {
    if (!own) {
      value = make(g, op::select, condition, value, number_like(g, value, 0));
      if (holds(g, condition, op::reduce)) return false;
    }
    if (!lay_out()) return false;
    if (holds(g, key, op::reduce)) {
      const node_id kept = keep(key, "kept", "ranges that overlap read it: it is computed once");
      value = with(g, value, key, kept);
      key = kept;
    }
    value = cast_to(g, wide(g.type(value)), value);
    if (holds(g, value, op::reduce)) value = keep(value, "kept", "ranges that overlap read it: it is computed once");
    if (!own && is_floating(g.type(key))) {  // a NaN ties with nothing
      const node_id counts = make(g, op::equal, key, key);
      value = make(g, op::select, counts, value, number_like(g, value, 0));
      key = make(g, op::select, counts, key, identity_of(g, extremum, g.type(key)));
    }
    for (auto d = dimensions.rbegin(); d != dimensions.rend(); ++d) {
      if (d != dimensions.rbegin()) {
        key = keep(key, "extremum", "ties are compared with it");
        value = keep(value, "tied", "sums of ties along one index, which another goes over");
      }
      if (!along(*d)) return false;
    }
    const node_id sum =
        own ? value : make(g, op::select, make(g, op::equal, mine, key), value, number_like(g, value, 0));
    s.reasons.push_back("sums of ties: folded index by index, so that their cost does not grow with the range");
    return instead(n, cast_to(g, g.type(n), sum));
  }

  // A bound of a range: an arm that moves with `over`, as multiple * over + rest or quotient(over + rest, by) + more.
  struct mover {
    node_id moving = no_node;
    bool limited = false;
    std::int64_t slope = 0, by = 0;
    node_id rest = no_node, more = no_node;
  };
  std::optional<mover> mover_of(node_id bound, node_id over) {
    mover m;
    while (g.kind(bound) == op::minimum || g.kind(bound) == op::maximum) {
      const int k = uses(g, g.arg(bound, 0), over) ? 0 : 1;
      if (uses(g, g.arg(bound, 1 - k), over)) return std::nullopt;
      m.limited = true;
      bound = g.arg(bound, k);
    }
    m.moving = bound;
    const line l = split_affine(g, bound, over);
    m.slope = l.slope;
    m.rest = l.rest;
    m.more = integer(g, 0);
    if (l.affine) return m;
    linear terms;
    collect(g, bound, 1, terms);
    for (const linear::term& t : terms.terms) {
      if (t.factor == 0 || !uses(g, t.node, over)) continue;
      if (m.by != 0 || t.factor != 1 || g.kind(t.node) != op::quotient || !linears::divides_by_constant(g, t.node))
        return std::nullopt;
      m.by = g[g.arg(t.node, 1)].attribute;
      const line inner = split_affine(g, g.arg(t.node, 0), over);
      if (!inner.affine || inner.slope != 1) return std::nullopt;
      m.rest = inner.rest;
      m.more = minus(g, bound, t.node);
    }
    return m;
  }

  // How many places a range has that is not cut: so many, or where it is uneven one more.
  struct length {
    bool known = false, uneven = false;
    std::int64_t least = 0;
  };
  length length_of(const std::optional<mover>& low, const std::optional<mover>& high) {
    if (!low || !high || low->slope != high->slope || low->by != high->by) return {};
    const node_id apart = minus(g, high->rest, low->rest), more = minus(g, high->more, low->more);
    if (!is_constant(g, apart) || !is_constant(g, more)) return {};
    const std::int64_t size = g[apart].attribute;
    if (low->by == 0) return {true, false, size};
    return {true, size % low->by != 0, math::floor_quotient(size, low->by) + g[more].attribute};
  }

  // Replaces key and value, along the walk, by the extremum over its range and the sum of what ties there.
  bool along(const dimension& d) {
    const auto low = mover_of(d.low, d.over), high = mover_of(d.high, d.over);
    if (!low || !high || low->slope != high->slope || low->by != high->by) return false;
    if (low->by == 0 && low->slope == 1) {
      windows(d, d.low, d.high, no_node, no_node);
      return true;
    }
    const length l = length_of(low, high);
    if (!l.known || l.least < 1) return false;
    const std::int64_t size = l.least;
    const bool uneven = l.uneven;
    // Windows at every place c, of which each range takes the one that ends where it does.
    const node_id from = plus(g, high->moving, -size);
    const node_id lowest = with(g, from, d.over, g.arg(d.over, 0));
    const node_id highest = with(g, from, d.over, plus(g, g.arg(d.over, 1), -1));
    const node_id c = fresh_index(g, d.walk, lowest, plus(g, highest, 1));
    node_id begin = c, end = plus(g, c, size);
    if (low->limited || uneven) begin = make(g, op::maximum, d.first, begin);
    if (high->limited) end = make(g, op::minimum, d.last, end);
    const node_id key_before = key, value_before = value;
    windows(d, begin, end, c, from);
    if (!uneven) return true;
    const node_id start = make(g, op::maximum, d.first, from);
    const node_id is_more = make(g, op::less, d.low, make(g, op::minimum, start, d.high));
    const node_id none = identity_of(g, extremum, g.type(key)), zero = number_like(g, value, 0);
    const node_id one = make(g, op::select, is_more, with(g, key_before, d.walk, d.low), none);
    trust_all(one);
    const node_id one_value = with(g, value_before, d.walk, d.low);
    trust_all(one_value);
    const node_id top = make(g, row(extremum).combine, key, one);
    const node_id tied = make(g, op::select, make(g, op::equal, key, top), value, zero);
    const node_id also = conjunction(g, is_more, make(g, op::equal, one, top));
    value = make(g, op::add, tied, make(g, op::select, also, one_value, zero));
    key = top;
    return true;
  }
  // Of [begin, end), which `at` moves with, read at a place; none: where they are.
  void windows(const dimension& d, node_id begin, node_id end, node_id at, node_id place) {
    const node_id v = fresh_index(g, d.walk, begin, end);
    const node_id keys = in_range(key, d.walk, v), values = in_range(value, d.walk, v);
    const node_id extrema = whole(extremum, keys, {v});
    const bool is_last = layout(key).vector == d.walk;
    const stage like = is_last ? layout(extrema, at) : layout(extrema);
    node_id top = stored(g, extrema, "extremum", like, before, "ties are compared with it");
    trusted.insert(top);
    const node_id ties = intern_reduce(g, monoid::sum, g.type(value), values, make(g, op::equal, keys, top), {v});
    node_id sum = stored(g, ties, "tied", like, before, "sums of ties along one index");
    trusted.insert(sum);
    if (at != no_node) {
      top = moved(top, at, place);
      sum = moved(sum, at, place);
    }
    key = top;
    value = sum;
  }
  node_id in_range(node_id e, node_id walk, node_id v) {
    replacement put(g);
    put.add(walk, v);
    trust_alike(g, e, put, trusted);
    return put(e);
  }
  // Loads of what is stored along a walk, at a place that lies within it wherever it is asked for.
  void trust_all(node_id e) {
    for_each_node(g, e, [&](node_id x) {
      if (g.kind(x) == op::load && g.kind(g.arg(x, 0)) == op::define) trusted.insert(x);
    });
  }

  graph& g;
  const facts& known;
  node_id n;
  std::vector<node_id> bounds;
  stage& s;
  std::vector<stage>& before;
  trust& trusted;
  trust unused;
  node_id mine = no_node, key = no_node, value = no_node, condition = no_node;
  monoid extremum = monoid::max;
  double steps = 1;  // elements of the keys for each result
  std::vector<node_id> found_places;
  std::vector<dimension> dimensions;
};

}  // namespace

bool take_tie_ranges(graph& g, const facts& known, node_id n, stage& s, std::vector<stage>& before, trust& trusted) {
  return tie_ranges(g, known, n, s, before, trusted)();
}

}  // namespace sheaf::plan
