#include <sheaf/jit/plan/algorithms/extremum/extremum_tuple.hpp>

#include <sheaf/dsl/graph/affine.hpp>
#include <sheaf/jit/plan/algorithms/scan/scans.hpp>
#include <sheaf/jit/plan/algorithms/window/windows.hpp>
#include <sheaf/jit/plan/layout.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/stages.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

using namespace tuning::extremum;

bool two_scans_pay(graph& g, const facts& known, const sliding& r, std::int64_t from) {
  if (r.over == no_node) return false;
  const std::int64_t step = bound_of(g, r.low, r.over).slope, least = from * step;
  return step >= 1 && width_of(g, r) >= least && known.trips(r.over) >= static_cast<double>(least) && cuts_only(g, r);
}

// The state of the range's window; nothing: the values do not move as the keys do.
flat<node_id> state_of(const context& c, const stage& s, const sliding& keys, monoid first, node_id key,
                       node_id value) {
  graph& g = c.g;
  flat<node_id> parts;
  parts.push(key);
  parts.push(value);
  const node_id whole = intern_value(g, first, 0, tuple(g, parts), truth(g, true), {keys.bound});
  const sliding r = sliding_along(g, whole, keys.over, keys.bound);
  if (r.over == no_node || r.stride != keys.stride) return {};
  return window_by_two_scans(c, r, width_of(g, r), s);
}

// Where an element of the range lies along the keys.
node_id place_in(graph& g, const sliding& keys) {
  return make(g, op::add, make(g, op::mul, keys.over, integer(g, keys.stride)), keys.bound);
}

// Of an element that holds a reduction: it is stored along the range, and read from there.
node_id kept_along(const context& c, const sliding& r, node_id walk, node_id value, const stage& s) {
  node_id materialised = known_as(c.g, value, walk, c.before);
  stage like = layout_of(c, value, s);
  if (!s.indices.empty() && s.indices.back() == r.over) like.vector = walk;
  if (materialised == no_node)
    materialised = stored(c, value, {"materialised", like, "windows that overlap read it: it is computed once"});
  return proven(c.g, materialised);
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

void store_mine(const context& c, stage& s, const extremum_ties& t) {
  const node_id materialised =
      stored(c, t.mine, {"materialised", layout_of(c, t.mine, s), "ties are compared with it"});
  replace_in(c.g, s, t.mine, proven(c.g, materialised));
}

bool extremum_with_sum_in_one_pass(const context& c, stage& s, site& at) {
  graph& g = c.g;
  const extremum_ties& t = at.ties();
  if (window_of(g, t, no_node).over == no_node) return false;
  if (const node_id sum = without_count(g, at.node); sum != at.node) {
    replace_in(g, s, at.node, sum);
    return true;
  }
  const sliding r = window_of(g, t, t.value);
  if (r.over == no_node) return false;
  if (holds(g, t.mine, op::reduce)) {
    store_mine(c, s, t);
    return true;
  }
  const walked keys = value_along(g, r);
  node_id key = t.key, read = t.value, value = along_walk(g, r, keys.walk, read);
  if (!holds(g, keys.value, op::reduce) && !holds(g, value, op::reduce))
    return take_extremum_sums_of_window(c, t, r, keys, value, s);
  if (holds(g, keys.value, op::reduce)) {
    const node_id there = kept_along(c, r, keys.walk, keys.value, s);
    key = with(g, there, keys.walk, place_in(g, r), proofs::kept);
    value = with(g, value, keys.value, there);
  }
  if (holds(g, value, op::reduce))
    read = with(g, kept_along(c, r, keys.walk, value, s), keys.walk, place_in(g, r), proofs::kept);
  const node_id ties = make(g, op::equal, t.mine, key);
  replace_in(g, s, at.node, intern_reduce(g, monoid::sum, g.type(at.node), read, ties, {r.bound}));
  return true;
}

bool extremum_with_sum(const context& c, stage& s, site& at) {
  graph& g = c.g;
  const extremum_ties& t = at.ties();
  const sliding keys = window_of(g, t, t.value);
  if (!two_scans_pay(g, c.known, keys, blocks_from)) return false;
  for (const node_id e : {t.mine, t.key, t.value})
    if (holds(g, e, op::reduce)) return false;
  const element type = is_floating(g.type(t.reduce)) ? element::f64 : g.type(t.reduce);
  node_id key = as_compared(g, t.key), value = cast_to(g, type, t.value);
  if (is_floating(g.type(key))) {  // a NaN ties with nothing
    const node_id counts = make(g, op::equal, key, key);
    key = make(g, op::select, counts, key, identity_of(g, t.extremum, g.type(key)));
    value = make(g, op::select, counts, value, number_like(g, value, 0));
  }
  const monoid first = extremum_with(g, t.extremum, g.type(key), monoid::sum, type);
  const flat<node_id> state = state_of(c, s, keys, first, key, value);
  if (state.size() == 0) return false;
  const node_id ties = make(g, op::equal, state[0], t.mine);
  const node_id sum = make(g, op::select, ties, state[1], number_like(g, state[1], 0));
  replace_in(g, s, at.node, cast_to(g, g.type(t.reduce), sum));
  return true;
}

bool extremum_with_position(const context& c, stage& s, site& at) {
  graph& g = c.g;
  const node_id n = at.node;
  const auto list = bound_indices(g, n);
  if (!row(monoid_of(g, n)).position || list.size() != 1 || !is_true(g, g.arg(n, 1)) || !has_closed_ranges(g, n))
    return false;
  const monoid extremum = monoid_of(g, n) == monoid::argmax ? monoid::max : monoid::min;
  const node_id u = list[0], ends = make(g, op::add, g.arg(u, 0), plus(g, g.arg(u, 1), -1));
  for (const bool mirrored : {false, true}) {
    const node_id key = mirrored ? with(g, g.arg(n, 0), u, make(g, op::sub, ends, u)) : g.arg(n, 0);
    const node_id keys = intern_reduce(g, extremum, g.type(key), key, truth(g, true), {u});
    for (const node_id over : indices_of(g, g.free[n])) {
      const sliding r = sliding_along(g, keys, over, u);
      if (holds(g, key, op::reduce) || !two_scans_pay(g, c.known, r, positions_from)) continue;
      const node_id begins = make(g, op::mul, over, integer(g, r.stride)), place = make(g, op::add, begins, u);
      const monoid fold = mirrored ? monoid::max : monoid::min;
      const monoid first = extremum_with(g, extremum, g.type(key), fold, element::i64);
      const flat<node_id> state = state_of(c, s, r, first, key, place);
      if (state.size() == 0) continue;
      node_id position = make(g, op::sub, state[1], begins);
      if (mirrored) position = make(g, op::sub, ends, position);
      replace_in(g, s, n, make(g, op::select, make(g, op::less, r.low, r.high), position, integer(g, -1)));
      return true;
    }
  }
  return false;
}

}  // namespace sheaf::inline v0_1::plan
