#include <sheaf/jit/plan/extremum_windows.hpp>

#include <optional>

#include <sheaf/dsl/graph/affine.hpp>
#include <sheaf/jit/plan/layout.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/stages.hpp>
#include <sheaf/jit/plan/algorithms/window/windows.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

// The value as it lies along the range, of the same places as the keys.
std::optional<walked> values_along(graph& g, const tied& found, node_id walk) {
  const node_id n = found.reduce, bound = bound_indices(g, n)[0];
  const node_id whole = intern_reduce(g, monoid::sum, g.type(n), found.value, found.condition, {bound});
  if (!uses(g, found.value, bound) && !uses(g, found.condition, bound)) {
    if (uses(g, found.value, found.keys.over)) return std::nullopt;
    return walked{walk, found.value};
  }
  const sliding r = sliding_of(g, whole);
  if (r.over != found.keys.over || r.bound != bound || r.stride != found.keys.stride) return std::nullopt;
  const walked w = value_along(g, r);
  return walked{walk, with(g, w.value, w.walk, walk, proofs::kept)};
}

// Where an element of the range lies along the keys.
node_id place_in(graph& g, const sliding& keys) {
  return make(g, op::add, make(g, op::mul, keys.over, integer(g, keys.stride)), keys.bound);
}

// Of an element that holds a reduction: it is stored along the range, and read from there.
node_id kept_along(graph& g, const facts& known, const tied& found, node_id walk, node_id value, const stage& s,
                   std::vector<stage>& before) {
  node_id materialised = known_as(g, value, walk, before);
  const sliding& r = found.keys;
  stage like = layout_of(g, known, value, s);
  if (!s.indices.empty() && s.indices.back() == r.over) like.vector = walk;
  if (materialised == no_node)
    materialised = stored(g, value, "materialised", like, before, "windows that overlap read it: it is computed once");
  return proven(g, with(g, materialised, walk, place_in(g, r)));
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

bool take_extremum_window(graph& g, const facts& known, node_id n, stage& s, std::vector<stage>& before) {
  const tied found = extremum_terms_of(g, n);
  if (found.reduce == no_node) return false;
  const auto instead = [&](node_id from, node_id to) {
    replacement put(g);
    put.add(from, to);
    s.body = put(s.body);
    return true;
  };
  if (const node_id sum = without_count(g, n); sum != n) return instead(n, sum);
  if (holds(g, found.mine, op::reduce)) {
    const stage like = layout_of(g, known, found.mine, s);
    return instead(found.mine,
                   proven(g, stored(g, found.mine, "materialised", like, before, "ties are compared with it")));
  }
  const walked keys = value_along(g, found.keys);
  const auto values = values_along(g, found, keys.walk);
  if (!values) return false;
  if (!holds(g, keys.value, op::reduce) && !holds(g, values->value, op::reduce))
    return take_extremum_sums_of_window(g, known, found, keys, values->value, s, before);
  node_id key = found.key, value = values->value, read = found.value, condition = found.condition;
  if (holds(g, keys.value, op::reduce)) {
    key = kept_along(g, known, found, keys.walk, keys.value, s, before);
    value = with(g, value, keys.value, with(g, key, place_in(g, found.keys), keys.walk, proofs::kept));
  }
  if (holds(g, value, op::reduce)) {
    read = kept_along(g, known, found, keys.walk, value, s, before);
    condition = truth(g, true);  // what fails it is stored as 0
  }
  const node_id equality = make(g, op::equal, found.mine, key);
  return instead(
      n, intern_reduce(g, monoid::sum, g.type(n), read, conjunction(g, condition, equality), {found.keys.bound}));
}

}  // namespace sheaf::inline v0_1::plan
