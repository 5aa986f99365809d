#include <sheaf/jit/plan/algorithms/extremum/extremum_sums.hpp>

#include <algorithm>

#include <sheaf/dsl/graph/affine.hpp>
#include <sheaf/jit/numerics/numerics.hpp>
#include <sheaf/jit/plan/algorithms/extremum/extremum_tuple.hpp>
#include <sheaf/jit/plan/layout.hpp>
#include <sheaf/jit/plan/algorithms/polyphase/polyphase.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/stages.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

using namespace tuning::extremum;
using numerics::accumulated;

// A range of one size goes with the index beside which the bound one stands in subscripts; perhaps dilated.
sliding slides(graph& g, node_id n, node_id bound, node_id beside = no_node) {
  const auto along = [&](node_id over) {
    const sliding r = sliding_along(g, n, over, bound, beside);
    return r.over != no_node ? r : dilated_along(g, n, over, bound, beside);
  };
  if (const node_id over = over_of(g, bound); over != no_node) return along(over);
  for (const node_id idx : indices_of(g, g.free[n]))
    if (sliding r = along(idx); r.over != no_node) return r;
  return {};
}

// One index of the sum, along the index outside that its range slides with.
struct dimension {
  node_id walk;   // of keys and values
  sliding range;  // low, high, first, last are of the walk
};

class extremum_sum {
 public:
  extremum_sum(const context& c, const extremum_ties& t, stage& s)
      : c(c), g(c.g), t(t), s(s), key(as_compared(c.g, t.key)), value(t.value) {}

  bool operator()() {
    if (!lay_out()) return false;
    store_elements();
    if (!t.own && is_floating(g.type(key))) {  // a NaN ties with nothing
      const node_id counts = make(g, op::equal, key, key);
      value = make(g, op::select, counts, value, number_like(g, value, 0));
      key = make(g, op::select, counts, key, none());
    }
    for (auto d = dimensions.rbegin(); d != dimensions.rend(); ++d) {
      if (d != dimensions.rbegin()) {
        key = keep(key, "extremum", "ties are compared with it");
        value = keep(value, "tied", "sums of ties along one index, which another goes over");
      }
      if (!along(*d)) return false;
    }
    const node_id sum =
        t.own ? value : make(g, op::select, make(g, op::equal, t.mine, key), value, number_like(g, value, 0));
    s.reasons.push_back("sums of ties: folded index by index, so that their cost does not grow with the range");
    replace_in(g, s, t.reduce, cast_to(g, g.type(t.reduce), sum));
    return true;
  }

 private:
  node_id none() { return identity_of(g, t.extremum, g.type(key)); }
  node_id whole(monoid kind, node_id body, const std::vector<node_id>& list) {
    return intern_reduce(g, kind, g.type(body), body, truth(g, true), list);
  }

  // Keys and values as they lie along the walks.
  bool lay_out() {
    node_id keys = whole(t.extremum, key, t.bounds);
    for (const node_id b : t.bounds) {
      const sliding r = slides(g, keys, b, value);
      if (r.over == no_node) return false;
      const walked w = value_along(g, r);
      keys = w.value;
      value = along_walk(g, r, w.walk, value);
      dimensions.push_back({w.walk, r});
    }
    key = keys;
    return true;
  }

  // What holds a reduction is computed once.
  void store_elements() {
    const char* reason = "ranges that overlap read it: it is computed once";
    if (holds(g, key, op::reduce)) {
      const node_id materialised = keep(key, "materialised", reason);
      value = with(g, value, key, materialised);
      key = materialised;
    }
    value = cast_to(g, accumulated(g.type(value)), value);
    if (holds(g, value, op::reduce)) value = keep(value, "materialised", reason);
  }
  node_id keep(node_id e, const char* name, const char* reason) {
    if (g.kind(e) == op::load && g.kind(g.arg(e, 0)) == op::define) return e;
    for (const dimension& d : dimensions)
      if (uses(g, e, d.walk))
        if (const node_id found = known_as(g, e, d.walk, c.before); found != no_node) return proven(g, found);
    return proven(g, stored(c, e, {name, layout(e), reason}));
  }
  // Memory runs along what goes over the stage's last index, also where that is read in steps.
  stage layout(node_id e, node_id place = no_node) {
    stage like = s;
    const dimension* last = nullptr;
    std::ptrdiff_t rank = -1;
    for (const dimension& d : dimensions) {
      const auto at = std::ranges::find(s.indices, d.range.over) - s.indices.begin();
      if (at > rank && at < static_cast<std::ptrdiff_t>(s.indices.size())) rank = at, last = &d;
    }
    if (last == nullptr) return layout_of(c, e, s);
    for (const node_id idx : {last->walk, last->range.over, place})
      if (idx != no_node && uses(g, e, idx)) {
        like.vector = idx;
        return like;
      }
    return layout_of(c, e, s);
  }

  // Replaces key and value, along the walk, by the extremum over its range and the sum of what ties there.
  bool along(const dimension& d) {
    const sliding& r = d.range;
    if (r.step != 1) return in_parts(d), true;
    const bound_line low = bound_of(g, r.low, r.over), high = bound_of(g, r.high, r.over);
    if (low.affine && high.affine && low.slope == 1 && high.slope == 1) {
      windows(d.walk, r.low, r.high, no_node);
      return true;
    }
    const length l = length_of(g, low, high);
    if (!l.known || l.least < 1) return false;
    const node_id key_before = key, value_before = value;
    const node_id start = in_steps(d, low, high, l);
    if (l.uneven) one_more(d, start, key_before, value_before);
    return true;
  }

  // Windows at every place, of which each range takes the one that ends where it does. Returns where that begins.
  node_id in_steps(const dimension& d, const bound_line& low, const bound_line& high, const length& l) {
    const sliding& r = d.range;
    const node_id from = plus(g, high.moving, -l.least);
    const node_id lowest = with(g, from, r.over, g.arg(r.over, 0));
    const node_id highest = with(g, from, r.over, plus(g, g.arg(r.over, 1), -1));
    const node_id p = fresh_index(g, d.walk, lowest, plus(g, highest, 1));
    node_id begin = p, end = plus(g, p, l.least);
    if (low.limited || l.uneven) begin = make(g, op::maximum, r.first, begin);
    if (high.limited) end = make(g, op::minimum, r.last, end);
    windows(d.walk, begin, end, p);
    read_at(p, from);
    return make(g, op::maximum, r.first, from);
  }
  // The element before the window, where a range has it: both arms of a choice are evaluated, so its load is masked.
  void one_more(const dimension& d, node_id start, node_id key_before, node_id value_before) {
    const sliding& r = d.range;
    const node_id is_more = make(g, op::less, r.low, make(g, op::minimum, start, r.high));
    const node_id zero = number_like(g, value, 0);
    const node_id one = make(g, op::select, is_more, with(g, key_before, d.walk, r.low), none());
    const node_id one_value = with(g, value_before, d.walk, r.low);
    const node_id top = make(g, row(t.extremum).combine, key, one);
    const node_id tied = make(g, op::select, make(g, op::equal, key, top), value, zero);
    const node_id also = conjunction(g, is_more, make(g, op::equal, one, top));
    value = make(g, op::add, tied, make(g, op::select, also, one_value, zero));
    key = top;
  }

  // Each part of a dilated range is laid out by itself; its windows move by one element.
  void in_parts(const dimension& d) {
    const phases l = phases_of(g, d.range);
    const node_id nothing = none();
    const auto laid = [&](node_id e, node_id outside) {
      const node_id there = make(g, op::select, l.inside, with(g, e, d.walk, l.place), outside);
      const bool inner = layout(e).vector == d.walk;
      stage like = layout(there, l.walk);
      if (inner) like.vector = l.walk;
      const node_id part = stored(c, there, {"laid_out", like, "dilated: each part is laid out by itself"});
      return std::pair(proven(g, part), inner);
    };
    const sliding& r = d.range;
    const bool cut = g.arg(r.bound, 0) != r.low || g.arg(r.bound, 1) != r.high;
    if (cut || uses(g, value, d.walk)) value = laid(value, number_like(g, value, 0)).first;
    const auto [keys, inner] = laid(key, nothing);
    key = keys;
    windows(l.walk, l.begin, l.end, l.along, inner);
    read_at(l.along, l.at_along);
    read_at(l.part, l.at_part);
  }

  // Of [begin, end), which the place of a window moves with; none: it moves with the index outside.
  void windows(node_id walk, node_id begin, node_id end, node_id place, bool inner = false) {
    const node_id v = fresh_index(g, walk, begin, end);
    const node_id keys = with(g, key, walk, v, proofs::kept), values = with(g, value, walk, v, proofs::kept);
    const node_id extrema = whole(t.extremum, keys, {v});
    const bool is_last = inner || layout(key).vector == walk;
    stage like = is_last ? layout(extrema, place) : layout(extrema);
    if (inner) like.vector = place;
    const node_id top = proven(g, stored(c, extrema, {"extremum", like, "ties are compared with it"}));
    const node_id ties = intern_reduce(g, monoid::sum, g.type(value), values, make(g, op::equal, keys, top), {v});
    key = top;
    value = proven(g, stored(c, ties, {"tied", like, "sums of ties along one index"}));
  }
  void read_at(node_id idx, node_id place) {
    key = proven(g, with(g, key, idx, place));
    value = proven(g, with(g, value, idx, place));
  }
  const context c;
  graph& g;
  const extremum_ties& t;
  stage& s;
  node_id key, value;
  std::vector<dimension> dimensions;
};

// An arm of a bound that is a number.
node_id number_in(graph& g, node_id bound, op limit) {
  if (is_constant(g, bound)) return bound;
  for (int k = 0; g.kind(bound) == limit && k < 2; ++k)
    if (const node_id found = number_in(g, g.arg(bound, k), limit); found != no_node) return found;
  return no_node;
}
// Places of a range that is not cut.
amount most_places(graph& g, const facts& known, node_id bound) {
  const node_id over = over_of(g, bound);
  if (over == no_node) return known.trips(bound);
  const length l = length_of(g, bound_of(g, g.arg(bound, 0), over), bound_of(g, g.arg(bound, 1), over));
  if (l.known) return static_cast<double>(l.least) + (l.uneven ? 0.5 : 0);
  const node_id low = number_in(g, g.arg(bound, 0), op::maximum), high = number_in(g, g.arg(bound, 1), op::minimum);
  if (low == no_node || high == no_node) return known.trips(bound);
  return static_cast<double>(g[high].attribute - g[low].attribute);
}

// How the ranges slide, if all do: one alone by more than an element, or dilated, or several.
struct steps_of {
  bool fit = false, dilated = false;
  double elements = 1;  // of the keys for each result
};
steps_of steps_in(graph& g, const extremum_ties& t) {
  const node_id keys = intern_reduce(g, t.extremum, g.type(t.key), t.key, truth(g, true), t.bounds);
  steps_of found;
  bool plain = t.bounds.size() == 1;
  for (const node_id b : t.bounds) {
    const sliding r = slides(g, keys, b);
    if (r.over == no_node) return found;
    found.dilated = found.dilated || r.step != 1;
    if (r.step != 1) continue;
    const std::int64_t low = bound_of(g, r.low, r.over).slope, high = bound_of(g, r.high, r.over).slope;
    found.elements *= static_cast<double>(std::max<std::int64_t>(1, low));
    plain = plain && low == 1 && high == 1;
  }
  found.fit = found.dilated || !plain;
  return found;
}

}  // namespace

bool extremum_with_sum_by_index(const context& c, stage& s, site& at) {
  graph& g = c.g;
  const extremum_ties& t = at.ties();
  if (t.reduce == no_node) return false;
  amount terms = 1;
  for (const node_id b : t.bounds) terms *= most_places(g, c.known, b);
  const steps_of steps = steps_in(g, t);
  const double fewest = steps.dilated ? dilated_from : ranges_from;
  if (terms < fewest || (t.own && (!steps.fit || terms < fewest * steps.elements))) return false;
  if (!t.own || !holds(g, t.mine, op::reduce))
    return extremum_sum(c, t, s)();
  store_mine(c, s, t);
  return true;
}

}  // namespace sheaf::inline v0_1::plan
