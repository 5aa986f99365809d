// Where an adjoint may differ from zero, and what keeps it there. A cotangent is a sum of terms `select(where, value,
// 0)`; it is multiplied by a derivative term by term, each under its own condition, so that no derivative is evaluated
// where the forward pass did not evaluate its function: 0 * inf would be NaN, and an interval of rows would become all
// rows. Shown by tests/gradient/second_order.cpp and fuzz_unread.cpp.
#pragma once
#include <sheaf/dsl/passes/reduce.hpp>

namespace sheaf::inline v0_1 {

namespace derivative {

// Another reduction over the indices of reduction n, under its condition and one more.
constexpr node_id like(graph& g, node_id n, monoid kind, node_id body, node_id condition) {
  flat<node_id> indices;  // copied: the graph's arrays may move while it grows
  for (int k = 2; k < g[n].count; ++k) indices.push(g.arg(n, k));
  return reduce(g, kind, body, conjunction(g, g.arg(n, 1), condition), indices.data(), indices.size());
}

}  // namespace derivative

namespace guards {

struct term {
  node_id where, value;
};

// Beyond this many a sum is one term again, where any of its conditions holds.
inline constexpr int most_terms = 8;

// Is e zero wherever none of some conditions holds?
constexpr bool is_sum_of_guarded(const graph& g, node_id e) {
  const op kind = g.kind(e);
  if (kind != op::select && kind != op::add) return false;
  const int first = kind == op::select ? 1 : 0;
  const node_id a = g.arg(e, first), b = g.arg(e, first + 1);
  if (kind == op::select && (is_number(g, a, 0) || is_number(g, b, 0))) return true;
  return is_sum_of_guarded(g, a) && is_sum_of_guarded(g, b);
}

constexpr node_id guarded(graph& g, node_id where, node_id value) {
  return make(g, op::select, where, value, number_like(g, value, 0));
}

constexpr void collect(graph& g, node_id e, node_id where, flat<term>& list) {
  if (is_number(g, e, 0)) return;
  if (!is_sum_of_guarded(g, e)) return list.push({where, e}), void();
  if (g.kind(e) == op::add) {
    collect(g, g.arg(e, 0), where, list);
    return collect(g, g.arg(e, 1), where, list);
  }
  const node_id c = g.arg(e, 0), yes = g.arg(e, 1), no = g.arg(e, 2);
  collect(g, yes, conjunction(g, where, c), list);
  if (!is_number(g, no, 0)) collect(g, no, conjunction(g, where, make(g, op::logical_not, c)), list);
}

// Does every conjunct of `some` stand in `all`?
constexpr bool implies(const graph& g, node_id all, node_id some) {
  flat<node_id> list;
  deltas::conjuncts(g, some, list);
  for (const node_id c : list)
    if (!has_conjunct(g, all, c)) return false;
  return true;
}

// The conjuncts of a that b has too and that may be asked before all others.
constexpr node_id take_common(graph& g, node_id a, node_id b) {
  flat<node_id> list;
  deltas::conjuncts(g, a, list);
  node_id common = truth(g, true);
  for (const node_id c : list)
    if (has_conjunct(g, b, c) && !may_fail(g, c)) common = conjunction(g, common, c);
  return common;
}
constexpr node_id without(graph& g, node_id a, node_id taken) {
  flat<node_id> list;
  deltas::conjuncts(g, a, list);
  node_id rest = truth(g, true);
  for (const node_id c : list)
    if (!has_conjunct(g, taken, c)) rest = conjunction(g, rest, c);
  return rest;
}

// Puts a term to one whose condition holds wherever its own does, or the other way round.
constexpr void merge(graph& g, flat<term>& list, term t) {
  for (int k = 0; k < list.size(); ++k) {
    const term other = list[k];
    const bool within = implies(g, t.where, other.where);
    if (!within && !implies(g, other.where, t.where)) continue;
    const node_id rest = within ? without(g, t.where, other.where) : without(g, other.where, t.where);
    list[k] = within ? term{other.where, make(g, op::add, other.value, guarded(g, rest, t.value))}
                     : term{t.where, make(g, op::add, guarded(g, rest, other.value), t.value)};
    return;
  }
  list.push(t);
}

constexpr flat<term> terms(graph& g, node_id e) {
  flat<term> all, list;
  collect(g, e, truth(g, true), all);
  if (all.size() <= 1) return all;
  for (const term& t : all) merge(g, list, t);
  if (list.size() <= most_terms) return list;
  node_id anywhere = list[0].where;
  for (const term& t : list) anywhere = make(g, op::logical_or, anywhere, t.where);
  list.clear();
  list.push({anywhere, e});
  return list;
}

// What is summed apart over some indices: an equality or a bound fixes or narrows an index only where all of a sum
// obeys it.
constexpr flat<term> summands(graph& g, node_id e, const index_set& over) {
  flat<term> list;
  if (is_sum_of_guarded(g, e)) list = terms(g, e);
  bool narrows = false;
  for (int k = 0; k < list.size() && list.size() > 1; ++k) {
    flat<node_id> conditions;
    deltas::conjuncts(g, list[k].where, conditions);
    for (const node_id c : conditions) {
      const bool compares = g.kind(c) == op::equal || g.kind(c) == op::less || g.kind(c) == op::less_equal;
      narrows = narrows || (compares && !is_floating(g.type(g.arg(c, 0))) && g.free[c].meets(over));
    }
  }
  if (!narrows) {
    list.clear();
    list.push({truth(g, true), e});
  }
  return list;
}

// a + b, what both are restricted by outside.
constexpr node_id joined(graph& g, node_id a, node_id b) {
  if (!is_sum_of_guarded(g, a) || !is_sum_of_guarded(g, b) || a == b) return make(g, op::add, a, b);
  flat<term> all, list;
  collect(g, a, truth(g, true), all);
  collect(g, b, truth(g, true), all);
  for (const term& t : all) merge(g, list, t);
  node_id common = list[0].where;
  for (int k = 1; k < list.size(); ++k) common = take_common(g, common, list[k].where);
  node_id sum = no_node;
  for (const term& t : list) {
    const node_id part = guarded(g, list.size() == 1 ? truth(g, true) : without(g, t.where, common), t.value);
    sum = sum == no_node ? part : make(g, op::add, sum, part);
  }
  return guarded(g, common, sum);
}

// Where may an adjoint differ from zero, as its form shows it?
constexpr node_id support(graph& g, node_id e) {
  const op kind = g.kind(e);
  if (is_number(g, e, 0)) return truth(g, false);
  if (kind == op::add || kind == op::sub)
    return make(g, op::logical_or, support(g, g.arg(e, 0)), support(g, g.arg(e, 1)));
  if (kind == op::neg || kind == op::div || kind == op::cast) return support(g, g.arg(e, 0));
  if (kind == op::mul) return conjunction(g, support(g, g.arg(e, 0)), support(g, g.arg(e, 1)));
  if (kind == op::select) {
    const node_id c = g.arg(e, 0), yes = support(g, g.arg(e, 1)), no = support(g, g.arg(e, 2));
    if (is_true(g, yes) && is_true(g, no)) return yes;
    const node_id otherwise = conjunction(g, make(g, op::logical_not, c), no);
    return make(g, op::logical_or, conjunction(g, c, yes), otherwise);
  }
  if (kind != op::reduce || monoid_of(g, e) != monoid::sum) return truth(g, true);
  const node_id inside = conjunction(g, g.arg(e, 1), support(g, g.arg(e, 0)));
  reduction every{monoid::sum, e, inside, {}};
  for (int k = 2; k < g[e].count; ++k) every.indices.push(g.arg(e, k));
  return rules::has_terms(g, every) ? inside : derivative::like(g, e, monoid::any, truth(g, true), inside);
}

// Where n was not computed, neither is what its derivative is made of: what of the term's part may be asked for.
constexpr node_id asked(graph& g, const term& t, node_id part, node_id n) {
  if (part == no_node) return part;
  if (may_fail(g, n)) part = guarded(g, support(g, t.value), part);
  return guarded(g, t.where, part);
}

constexpr bool compares_reals(const graph& g, node_id c) {
  const op kind = g.kind(c);
  if (kind == op::logical_and || kind == op::logical_or)
    return compares_reals(g, g.arg(c, 0)) || compares_reals(g, g.arg(c, 1));
  if (kind == op::logical_not) return compares_reals(g, g.arg(c, 0));
  return is_elementwise(kind) && is_floating(g.type(g.arg(c, 0)));
}
// A condition that holds wherever c does, and asks of no numbers but integers.
constexpr node_id without_reals(graph& g, node_id c) {
  flat<node_id> list;
  deltas::conjuncts(g, c, list);
  node_id rest = truth(g, true);
  for (const node_id one : list)
    if (!compares_reals(g, one)) rest = conjunction(g, rest, one);
  return rest;
}

// Are any terms in the sums that e is made of? What asks of numbers that are not integers counts as true: a sum without
// the terms that a rectifier takes away is still a sum of what was computed. So do tensors' extents, unless they may
// be 0.
constexpr node_id has_terms(graph& g, node_id e, bool may_be_empty = false) {
  const op kind = g.kind(e);
  if (kind == op::add || kind == op::sub)
    return make(g, op::logical_or, has_terms(g, g.arg(e, 0), may_be_empty), has_terms(g, g.arg(e, 1), may_be_empty));
  if (kind == op::neg || kind == op::div || kind == op::cast) return has_terms(g, g.arg(e, 0), may_be_empty);
  if (kind == op::mul)
    return conjunction(g, has_terms(g, g.arg(e, 0), may_be_empty), has_terms(g, g.arg(e, 1), may_be_empty));
  if (kind == op::select) {
    const node_id c = g.arg(e, 0), a = g.arg(e, 1), b = g.arg(e, 2);
    const node_id yes = is_number(g, a, 0) ? truth(g, false) : has_terms(g, a, may_be_empty);
    const node_id no = is_number(g, b, 0) ? truth(g, false) : has_terms(g, b, may_be_empty);
    if (is_true(g, yes) && is_true(g, no)) return yes;
    const node_id otherwise = conjunction(g, make(g, op::logical_not, c), no);
    return make(g, op::logical_or, conjunction(g, c, yes), otherwise);
  }
  if (kind != op::reduce || monoid_of(g, e) != monoid::sum) return truth(g, true);
  node_id inside = truth(g, !is_sum_of_guarded(g, g.arg(e, 0)));
  if (is_false(g, inside)) {
    const flat<term> list = terms(g, g.arg(e, 0));
    for (const term& t : list) inside = make(g, op::logical_or, inside, without_reals(g, t.where));
  }
  reduction some{monoid::any, truth(g, true), conjunction(g, without_reals(g, g.arg(e, 1)), inside), {}};
  for (int k = 2; k < g[e].count; ++k) some.indices.push(g.arg(e, k));
  if (!may_be_empty && rules::has_terms(g, some)) return truth(g, true);
  return reduce(g, monoid::any, some.body, some.condition, some.indices.data(), some.indices.size());
}

// What an element of reduction n gets, given where n's cotangent dy may differ from zero.
constexpr node_id of_element(graph& g, node_id n, node_id where, node_id dy, node_id part) {
  part = guarded(g, g.arg(n, 1), guarded(g, where, part));
  return may_fail(g, n) ? guarded(g, support(g, guarded(g, where, dy)), part) : part;
}
// The same term by term, where `by_element(dy)` is the cotangent times the monoid's derivative.
template <class F>
constexpr node_id through_reduction(graph& g, node_id n, node_id dy, const F& by_element) {
  node_id sum = no_node;
  const flat<term> list = terms(g, dy);
  for (const term& t : list) {
    const node_id part = of_element(g, n, t.where, t.value, by_element(t.value));
    sum = sum == no_node ? part : joined(g, sum, part);
  }
  return sum;
}
constexpr node_id anywhere(graph& g, node_id dy) {
  node_id any = truth(g, false);
  const flat<term> list = terms(g, dy);
  for (const term& t : list) any = make(g, op::logical_or, any, t.where);
  return any;
}

// The cotangent of argument k of the elementwise node n, term by term of n's own.
constexpr node_id through(graph& g, node_id n, node_id dy, int k) {
  const bool whole = g.kind(n) == op::add || g.kind(n) == op::select;  // nothing is multiplied
  if (whole || !is_sum_of_guarded(g, dy)) return asked(g, {truth(g, true), dy}, row(g.kind(n)).adjoint(g, n, dy, k), n);
  node_id sum = no_node;
  const flat<term> list = terms(g, dy);
  for (const term& t : list) {
    const node_id part = asked(g, t, row(g.kind(n)).adjoint(g, n, t.value, k), n);
    if (part != no_node) sum = sum == no_node ? part : joined(g, sum, part);
  }
  return sum;
}

}  // namespace guards

}  // namespace sheaf::inline v0_1
