#include <sheaf/jit/plan/steps.hpp>

#include <algorithm>

#include <sheaf/dsl/graph/affine.hpp>
#include <sheaf/jit/plan/algorithms/stencil/small_windows.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/stages.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

// quotient(e, by), with what is a multiple of `by` outside of it.
node_id divided(graph& g, node_id e, std::int64_t by) {
  linear all;
  collect(g, e, 1, all);
  if (all.wrapped) return make(g, op::quotient, e, integer(g, by));
  node_id outside = integer(g, 0), inside = outside;
  for (const linear::term& t : all.terms) {
    const bool whole = t.factor % by == 0;
    node_id& sum = whole ? outside : inside;
    sum = make(g, op::add, sum, make(g, op::mul, t.node, integer(g, whole ? t.factor / by : t.factor)));
  }
  const std::int64_t constant = math::floor_quotient(all.constant, by);
  const node_id rest = plus(g, inside, all.constant - constant * by);
  return plus(g, make(g, op::add, outside, make(g, op::quotient, rest, integer(g, by))), constant);
}

// A condition of a reduction that chooses every `by`-th place of idx: those where idx = first + sign * by * q.
struct step {
  node_id idx = no_node, condition = no_node;
  node_id walked = no_node;  // what the condition divides: by * q
  node_id first = no_node;
  std::int64_t by = 0, sign = 1;
};

step step_in(graph& g, node_id n, node_id condition) {
  if (g.kind(condition) != op::equal || !is_number(g, g.arg(condition, 1), 0)) return {};
  const node_id remainder = g.arg(condition, 0);
  if (g.kind(remainder) != op::remainder || g.type(remainder) != element::i64) return {};
  const node_id walked = g.arg(remainder, 0), by = g.arg(remainder, 1);
  if (!is_constant(g, by) || g[by].attribute < 2 || g[by].attribute > steepest) return {};
  const std::vector<node_id> bound = bound_indices(g, n);
  for (const node_id idx : bound) {
    const line l = split_affine(g, walked, idx);
    const bool decides = std::ranges::any_of(bound, [&](node_id o) { return o != idx && uses(g, o, idx); });
    if (!l.affine || (l.slope != 1 && l.slope != -1) || decides || l.rest == no_node) continue;
    if (std::ranges::any_of(bound, [&](node_id o) { return o != idx && uses(g, walked, o); })) continue;
    const node_id first = l.slope == 1 ? make(g, op::neg, l.rest) : l.rest;
    return {idx, condition, walked, first, g[by].attribute, l.slope};
  }
  return {};
}

// The range of q: of each arm of the index's range, what it is for q.
node_id places_of(graph& g, const step& s) {
  std::vector<node_id> lows, highs;
  arms(g, g.arg(s.idx, 0), op::maximum, lows);
  arms(g, g.arg(s.idx, 1), op::minimum, highs);
  // From `least` on and up to `most`, both in multiples of by.
  node_id low = no_node, high = no_node;
  const auto from = [&](node_id least) {
    const node_id q = divided(g, plus(g, least, s.by - 1), s.by);
    low = low == no_node ? q : stricter(g, op::maximum, low, q);
  };
  const auto upto = [&](node_id most) {
    const node_id q = plus(g, divided(g, most, s.by), 1);
    high = high == no_node ? q : stricter(g, op::minimum, high, q);
  };
  const auto less_first = [&](node_id e) { return make(g, op::sub, e, s.first); };
  const auto first_less = [&](node_id e) { return make(g, op::sub, s.first, e); };
  for (const node_id e : lows) s.sign > 0 ? from(less_first(e)) : upto(first_less(e));
  for (const node_id e : highs) s.sign > 0 ? upto(less_first(plus(g, e, -1))) : from(first_less(plus(g, e, -1)));
  return fresh_index(g, s.idx, low, high);
}

node_id stepped(graph& g, node_id n, const step& s) {
  const node_id q = places_of(g, s), by = integer(g, s.by);
  node_id condition = truth(g, true);
  flat<node_id> list;
  deltas::conjuncts(g, g.arg(n, 1), list);
  for (const node_id c : list)
    if (c != s.condition) condition = conjunction(g, condition, c);
  replacement put(g, proofs::kept);
  put.rename(make(g, op::quotient, s.walked, by), q);
  put.add(s.idx, make(g, op::add, s.first, make(g, op::mul, q, integer(g, s.sign * s.by))));
  std::vector<node_id> bound = bound_indices(g, n);
  std::ranges::replace(bound, s.idx, q);
  return intern_reduce(g, monoid_of(g, n), g.type(n), put(g.arg(n, 0)), put(condition), bound);
}

}  // namespace

bool take_steps(const context& c, stage& s) {
  graph& g = c.g;
  if (s.where == place::check) return false;
  for (const node_id n : reductions_in(g, s.body)) {
    const monoid kind = monoid_of(g, n);
    if (row(kind).position || is_own(kind) || is_folded_in_order(g, n)) continue;
    flat<node_id> list;
    deltas::conjuncts(g, g.arg(n, 1), list);
    for (const node_id condition : list) {
      const step found = step_in(g, n, condition);
      if (found.idx == no_node) continue;
      replace_in(g, s, n, stepped(g, n, found));
      return true;
    }
  }
  return false;
}

}  // namespace sheaf::inline v0_1::plan
