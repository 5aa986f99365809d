#include <sheaf/jit/plan/slice_values.hpp>

#include <algorithm>
#include <cmath>

#include <sheaf/jit/plan/algorithms/scatter/slices_outside.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/same_but_for_names.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

// Does a comparison bound an index by data that does not depend on it, from below or from above?
bool is_end(const graph& g, node_id comparison, node_id idx, bool below) {
  if (g.kind(comparison) != op::less && g.kind(comparison) != op::less_equal) return false;
  const node_id bounded = g.arg(comparison, below ? 1 : 0), end = g.arg(comparison, below ? 0 : 1);
  return bounded == idx && holds(g, end, op::load) && !uses(g, end, idx);
}
bool has_end(const graph& g, const flat<node_id>& asked, node_id idx, bool below) {
  return std::ranges::any_of(asked, [&](node_id n) { return is_end(g, n, idx, below); });
}
bool is_slice(const graph& g, const flat<node_id>& asked, node_id idx) {
  return has_end(g, asked, idx, true) && has_end(g, asked, idx, false);
}

// Those of a list that hold in another too, and that may be asked before all else.
flat<node_id> common(graph& g, const flat<node_id>& list, const flat<node_id>& other) {
  flat<node_id> both;
  for (const node_id c : list)
    if (other.contains(c) && !may_fail(g, c)) both.push(c);
  return both;
}

// The argument with which e is 0: of a product by a number, the other factor; -1: none.
int zero_with(const graph& g, node_id e) {
  const op kind = g.kind(e);
  const auto finite = [&](int k) { return is_constant(g, g.arg(e, k)) && std::isfinite(real_value(g, g.arg(e, k))); };
  if (kind == op::neg || (kind == op::cast && is_floating(g.type(e)))) return 0;
  if (kind == op::mul) return finite(1) ? 0 : finite(0) ? 1 : -1;
  return kind == op::div && finite(1) && real_value(g, g.arg(e, 1)) != 0 ? 0 : -1;
}

// Without which e is 0, as its choices and sums show it.
flat<node_id> needed(graph& g, node_id e) {
  flat<node_id> list;
  if (const int k = zero_with(g, e); k >= 0) return needed(g, g.arg(e, k));
  if (g.kind(e) == op::add) return common(g, needed(g, g.arg(e, 0)), needed(g, g.arg(e, 1)));
  if (g.kind(e) != op::select) return list;
  const node_id yes = g.arg(e, 1), no = g.arg(e, 2);
  const bool either = !is_number(g, yes, 0) && !is_number(g, no, 0);
  if (either) return common(g, needed(g, yes), needed(g, no));
  const flat<node_id> within = needed(g, is_number(g, no, 0) ? yes : no);
  if (is_number(g, no, 0)) deltas::conjuncts(g, g.arg(e, 0), list);
  for (const node_id c : within)
    if (!may_fail(g, c) && !list.contains(c)) list.push(c);
  return list;
}

// e where these hold.
node_id where_all(graph& g, node_id e, const flat<node_id>& known) {
  if (const int k = zero_with(g, e); k >= 0) return with(g, e, g.arg(e, k), where_all(g, g.arg(e, k), known));
  if (g.kind(e) == op::add) {
    const node_id a = where_all(g, g.arg(e, 0), known), b = where_all(g, g.arg(e, 1), known);
    return make(g, op::add, a, b);
  }
  if (g.kind(e) != op::select) return e;
  flat<node_id> list;
  deltas::conjuncts(g, g.arg(e, 0), list);
  node_id rest = truth(g, true);
  for (const node_id c : list)
    if (!known.contains(c)) rest = conjunction(g, rest, c);
  const node_id yes = where_all(g, g.arg(e, 1), known), no = where_all(g, g.arg(e, 2), known);
  return make(g, op::select, rest, yes, no);
}

// The result of a stage that folds the same, whatever its indices are called; no_node: there is none.
node_id folded_already(graph& g, const std::vector<stage>& stages, node_id fold) {
  for (const stage& s : stages) {
    same_but_for_names same(g);
    if (g.kind(s.body) != op::reduce || g.free[s.body] != set_of(g, s.indices) || !same(s.body, fold)) continue;
    std::vector<node_id> places = s.indices;
    for (node_id& idx : places) idx = same.named(idx);
    if (set_of(g, places) == g.free[fold]) return load_at(g, s.define, places);
  }
  return no_node;
}

// A sum whose terms are 0 but in slices, over these; itself where it is none.
node_id over_slices(graph& g, node_id sum) {
  if (g[sum].attribute != static_cast<std::int64_t>(monoid::sum)) return sum;
  flat<node_id> all;
  const flat<node_id> known = needed(g, g.arg(sum, 0));
  deltas::conjuncts(g, g.arg(sum, 1), all);
  node_id condition = g.arg(sum, 1);
  for (const node_id c : known) condition = conjunction(g, condition, c), all.push(c);
  const std::vector<node_id> bound = bound_indices(g, sum);
  index_set asked = set_of(g, bound);
  for (const node_id c : all) asked |= g.free[c];
  const std::vector<node_id> indices = indices_of(g, asked);
  if (std::ranges::none_of(indices, [&](node_id idx) { return is_slice(g, all, idx); })) return sum;
  const node_id term = where_all(g, g.arg(sum, 0), known);
  const node_id made = reduce(g, monoid::sum, term, condition, bound.data(), static_cast<int>(bound.size()));
  return cast_to(g, g.type(sum), made);
}

node_id with_slices_walked(graph& g, node_id e) {
  for (const node_id n : reductions_in(g, e))
    if (const node_id sum = over_slices(g, n); sum != n) return with_slices_walked(g, with(g, e, n, sum));
  return e;
}

// A sum under a condition of its results as a choice of the sum or 0.
node_id as_choice(graph& g, node_id e) {
  if (g.kind(e) != op::reduce || g[e].attribute != static_cast<std::int64_t>(monoid::sum)) return e;
  const std::vector<node_id> bound = bound_indices(g, e);
  const auto [asked, rest] = parted(g, g.arg(e, 1), set_of(g, bound));
  if (is_true(g, asked)) return e;
  const node_id sum = intern_reduce(g, monoid::sum, g.type(e), g.arg(e, 0), rest, bound);
  return make(g, op::select, asked, sum, identity_of(g, monoid::sum, g.type(e)));
}

}  // namespace

bool is_of_slices(graph& g, node_id define) {
  const node_id body = as_choice(g, g.arg(define, 0));
  if (g.kind(body) != op::select || !is_number(g, g.arg(body, 2), 0)) return false;
  flat<node_id> asked;
  deltas::conjuncts(g, g.arg(body, 0), asked);
  return std::ranges::any_of(arguments(g, define, 1), [&](node_id idx) { return is_slice(g, asked, idx); });
}

node_id with_folds_stored(graph& g, std::vector<stage>& stages, node_id of) {
  const index_set all = set_of(g, arguments(g, of, 1));
  replacement put(g);
  for (const node_id fold : reductions_in(g, g.arg(of, 0))) {
    const index_set free = g.free[fold];
    const std::vector<node_id> bound = bound_indices(g, fold);
    const bool closed = std::ranges::all_of(bound, [&](node_id idx) { return is_closed(g, idx); });
    if (closed || free == all || !free.within(all)) continue;
    node_id result = folded_already(g, stages, fold);
    if (result == no_node) {
      stage s;
      s.body = fold;
      s.indices = indices_of(g, free);
      // A name of its own: rules may store the same of what else is left in a stage before this one is theirs to see.
      s.define = define(g, g.name("of_slices", 9), fold, s.indices.data(), static_cast<int>(s.indices.size()));
      s.made = origin::read_apart;
      s.reasons.push_back("what a slice folds of itself, read for each of its elements");
      result = load_at(g, s.define, s.indices);
      stages.push_back(std::move(s));
    }
    put.add(fold, result);
  }
  return put(as_choice(g, g.arg(of, 0)));
}

void walk_slices(graph& g, stage& s) {
  replacement back(g);
  flat<node_id> asked;
  const bool guarded = g.kind(s.body) == op::select;
  node_id value = guarded ? g.arg(s.body, 1) : s.body;
  if (guarded) deltas::conjuncts(g, g.arg(s.body, 0), asked);
  for (const node_id c : asked) {  // an index is known to be below what the choice compares it with
    const node_id idx = g.arg(c, 0);
    if (g.kind(c) != op::less || g.kind(idx) != op::index || !g.free[g.arg(c, 1)].empty()) continue;
    const node_id below = fresh_index(g, idx, g.arg(idx, 0), g.arg(c, 1));
    replacement put(g);
    put.add(idx, below);
    value = put(value);
    back.add(below, idx);
  }
  const node_id before = value;
  value = with_slices_walked(g, value);
  if (value == before) return;
  value = back(value);
  s.body = guarded ? make(g, op::select, g.arg(s.body, 0), value, g.arg(s.body, 2)) : value;
}

}  // namespace sheaf::inline v0_1::plan
