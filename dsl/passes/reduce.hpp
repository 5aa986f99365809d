// Pass `reduce`, the smart constructor of reductions. It brings conditions out of the body, resolves equalities that
// fix a bound index (the Kronecker deltas of gradients and one-hot products), narrows ranges by affine conditions,
// joins nested sums, hoists factors, and drops indices nothing depends on.
// A conjunct of the condition is asked as soon as those before it are and the indices in it have their values, so that
// it may guard the ranges of the indices that follow.
// Input: a body, a condition and bound indices. Output: an equal expression. Shown by tests/static/deltas.cpp.
#pragma once
#include <sheaf/dsl/passes/centred.hpp>
#include <sheaf/dsl/passes/digits.hpp>

namespace sheaf::inline v0_1 {

namespace deltas {

// May idx be replaced by e? No other bound index in e may take its range from idx. A range is computed before any
// condition is asked, so one that takes e in must not fail.
constexpr bool solvable(graph& g, const reduction& r, node_id idx, node_id e) {
  const int o = g.ordinal(idx);
  if (g.free[e].has(o)) return false;
  for (const node_id other : r.indices) {
    if (other == idx || !g.free[other].has(o)) continue;
    if (g.free[e].has(g.ordinal(other)) || may_fail(g, e) || range_may_fail(g, other)) return false;
  }
  return true;
}

// step * e for a bound that multiples of step are compared with: above step * quotient(a, step) is from a - step + 1.
constexpr node_id multiplied(graph& g, node_id e, node_id step) {
  const op kind = g.kind(e);
  if (kind == op::maximum || kind == op::minimum)
    return make(g, kind, multiplied(g, g.arg(e, 0), step), multiplied(g, g.arg(e, 1), step));
  if (kind == op::quotient && g.arg(e, 1) == step)
    return make(g, op::add, g.arg(e, 0), make(g, op::sub, integer(g, 1), step));
  return make(g, op::mul, e, step);
}

// The equality `step * idx == other`, where what stands for idx is `value`.
struct solution {
  node_id other, step, value;
  bool unit;
};

// Conjunct `solved` of the list says idx == e. What guards e comes first, then its range, then all that now holds e.
constexpr bool resolve(graph& g, reduction& r, const flat<node_id>& list, int solved, node_id idx,
                       const solution& found) {
  const int o = g.ordinal(idx);
  const node_id e = found.value;
  const bool fails = may_fail(g, e) || range_may_fail(g, idx);
  bool passed = false;
  node_id guards = truth(g, true);
  for (int i = 0; fails && i < solved; ++i) {
    if (!g.free[list[i]].has(o)) {
      if (passed && may_fail(g, list[i])) return false;  // a condition on idx may guard it
      guards = conjunction(g, guards, list[i]);
    }
    passed = passed || g.free[list[i]].has(o);
  }
  node_id later = truth(g, true);
  for (int i = 0; i < list.size(); ++i)
    if (i != solved && !(fails && i < solved && !g.free[list[i]].has(o))) later = conjunction(g, later, list[i]);
  flat<node_id> rest;
  for (const node_id other : r.indices)
    if (other != idx) rest.push(other);
  r.indices = rest;
  r.condition = later;
  replace(g, r, idx, e);
  node_id inside = guards;
  if (found.unit) {
    inside = conjunction(g, inside, range_condition(g, e, g.arg(idx, 0), g.arg(idx, 1)));
  } else {
    // Between multiples of the step, without the quotient: it stays affine, so it narrows ranges.
    const node_id zero = integer(g, 0), step = found.step;
    inside = conjunction(g, inside, make(g, op::equal, make(g, op::remainder, found.other, step), zero));
    const node_id low = multiplied(g, g.arg(idx, 0), step), high = multiplied(g, g.arg(idx, 1), step);
    inside = conjunction(g, inside, range_condition(g, found.other, low, high));
  }
  r.condition = conjunction(g, inside, r.condition);
  return true;
}

// One equality `slope * idx + rest == 0` of the condition, solved for a bound index; unit slopes first.
constexpr bool resolve_equality(graph& g, reduction& r) {
  flat<node_id> list;
  conjuncts(g, r.condition, list);
  for (int pass = 0; pass < 2; ++pass)
    for (int i = 0; i < list.size(); ++i) {
      if (g.kind(list[i]) != op::equal || is_floating(g.type(g.arg(list[i], 0)))) continue;
      for (int k = 0; k < r.indices.size(); ++k) {
        const node_id idx = r.indices[k];
        const line a = split_affine(g, g.arg(list[i], 0), idx), b = split_affine(g, g.arg(list[i], 1), idx);
        const std::int64_t slope = a.slope - b.slope;
        const bool unit = slope == 1 || slope == -1;
        if (!a.affine || !b.affine || slope == 0 || unit != (pass == 0)) continue;
        const node_id other = slope > 0 ? make(g, op::sub, b.rest, a.rest) : make(g, op::sub, a.rest, b.rest);
        const node_id step = integer(g, slope > 0 ? slope : -slope);
        const solution found{other, step, make(g, op::quotient, other, step), unit};
        if (solvable(g, r, idx, found.value) && resolve(g, r, list, i, idx, found)) return true;
      }
    }
  return false;
}

// A comparison of integers as left <= right + more, without the quotient by a number that one side is, and a number
// more: as it is, it bounds no index in the quotient.
struct inequality {
  node_id left, right;
  std::int64_t more;
};
constexpr inequality without_quotient(graph& g, node_id comparison, node_id idx) {
  const inequality c{g.arg(comparison, 0), g.arg(comparison, 1), g.kind(comparison) == op::less ? -1 : 0};
  const int o = g.ordinal(idx);
  for (int side = 0; side < 2; ++side) {
    const node_id e = side == 0 ? c.left : c.right;
    const bool shifted = g.kind(e) == op::add && is_constant(g, g.arg(e, 1));
    const node_id q = shifted ? g.arg(e, 0) : e;
    if (g.kind(q) != op::quotient || !is_constant(g, g.arg(q, 1)) || !g.free[q].has(o)) continue;
    const node_id step = g.arg(q, 1);
    if (g[step].attribute <= 0 || g[step].attribute > steepest) continue;
    const node_id other = make(g, op::add, side == 0 ? c.right : c.left, integer(g, side == 0 ? c.more : -c.more));
    const node_id rest = shifted ? make(g, op::sub, other, g.arg(e, 1)) : other, times = make(g, op::mul, rest, step);
    if (side == 1) return {times, g.arg(q, 0), 0};
    return {g.arg(q, 0), times, g[step].attribute - 1};
  }
  return c;
}

// slope * idx + rest <= 0 (or < 0) bounds idx from one side.
constexpr bool narrow_range(graph& g, reduction& r) {
  flat<node_id> list;
  conjuncts(g, r.condition, list);
  for (int i = 0; i < list.size(); ++i) {
    const op kind = g.kind(list[i]);
    if ((kind != op::less && kind != op::less_equal) || is_floating(g.type(g.arg(list[i], 0)))) continue;
    for (int k = 0; k < r.indices.size(); ++k) {
      const node_id idx = r.indices[k];
      const inequality c = without_quotient(g, list[i], idx);
      const line a = split_affine(g, c.left, idx), b = split_affine(g, c.right, idx);
      const std::int64_t slope = a.slope - b.slope;
      if (!a.affine || !b.affine || slope == 0) continue;
      // slope * idx <= room
      const node_id room = make(g, op::add, make(g, op::sub, b.rest, a.rest), integer(g, c.more));
      if (may_fail(g, room) || !solvable(g, r, idx, room)) continue;
      node_id low = g.arg(idx, 0), high = g.arg(idx, 1);
      const node_id one = integer(g, 1);
      if (slope > 0) {
        const node_id top = make(g, op::add, make(g, op::quotient, room, integer(g, slope)), one);
        high = stricter(g, op::minimum, high, top);
      } else {
        const node_id up = make(g, op::add, make(g, op::neg, room), integer(g, -slope - 1));
        low = stricter(g, op::maximum, low, make(g, op::quotient, up, integer(g, -slope)));
      }
      r.condition = conjunction_without(g, list, i);
      if (low == g.arg(idx, 0) && high == g.arg(idx, 1)) return true;
      replace(g, r, idx, distinct(g, r, idx, low, high));
      return true;
    }
  }
  return false;
}

// An index whose range another one's may leave without values, beside an index of the result: sums over pairs of
// windows that both hold a row walk the neighbours of the row, not all rows.
constexpr bool narrow_by_inner(graph& g, reduction& r) {
  const index_set bound = bound_set(g, r);
  const node_id before = r.condition;
  for (const node_id idx : r.indices) {
    if (!g.free[idx].meets(bound) || range_may_fail(g, idx)) continue;
    flat<node_id> list;
    conjuncts(g, at_most(g, g.arg(idx, 0), g.arg(idx, 1), true), list);
    for (const node_id c : list) {
      int within = 0, solved = 0;
      index_set beside = g.free[c].without(bound);
      for (const node_id other : r.indices) {
        if (!g.free[c].has(g.ordinal(other))) continue;
        beside = beside.without(g.free[other]);  // an index that c has by this range only
        const inequality as = without_quotient(g, c, other);
        const line a = split_affine(g, as.left, other), b = split_affine(g, as.right, other);
        ++within;
        solved += a.affine && b.affine && a.slope != b.slope;
      }
      if (within == 1 && solved == 1 && !beside.empty()) r.condition = conjunction(g, r.condition, c);
    }
  }
  return r.condition != before;
}

}  // namespace deltas

namespace rules {

// A body that is the identity where a condition fails belongs under the condition. So does one that is the identity
// where it holds, if another choice is below, which may fix an index: alone it stays, as what is 0 where a count is.
constexpr bool lift_condition(graph& g, reduction& r) {
  if (g.kind(r.body) == op::select) {
    const node_id identity = identity_of(g, r.kind, g.type(r.body)), test = g.arg(r.body, 0);
    const auto chooses = [&](node_id e) {
      return g.kind(e) == op::select && (g.arg(e, 1) == identity || g.arg(e, 2) == identity);
    };
    const bool holds = g.arg(r.body, 2) == identity;
    if (holds || (g.arg(r.body, 1) == identity && chooses(g.arg(r.body, 2)))) {
      r.condition = conjunction(g, r.condition, holds ? test : make(g, op::logical_not, test));
      r.body = g.arg(r.body, holds ? 1 : 2);
      return true;
    }
  }
  if (r.kind == monoid::sum && g.kind(r.body) == op::cast && g.type(g.arg(r.body, 0)) == element::boolean) {
    r.condition = conjunction(g, r.condition, g.arg(r.body, 0));
    r.body = number_like(g, r.body, 1);
    return true;
  }
  return false;
}

// sum(i, sum(j, e)) is one sum over both.
constexpr bool join_nested(graph& g, reduction& r) {
  if (g.kind(r.body) != op::reduce || monoid_of(g, r.body) != r.kind) return false;
  index_set outer = g.free[r.condition];
  for (const node_id idx : r.indices) outer |= g.free[idx];
  for (int k = 2; k < g[r.body].count; ++k) {
    const node_id idx = g.arg(r.body, k);
    if (outer.has(g.ordinal(idx))) return false;
  }
  for (int k = 2; k < g[r.body].count; ++k) r.indices.push(g.arg(r.body, k));
  r.condition = conjunction(g, r.condition, g.arg(r.body, 1));
  r.body = g.arg(r.body, 0);
  return true;
}

// Has an index at least one value, unless a tensor is empty?
constexpr bool is_walked(const graph& g, node_id idx) {
  const node_id low = g.arg(idx, 0), high = g.arg(idx, 1);
  const bool counted = is_constant(g, low) && is_constant(g, high) && g[low].attribute < g[high].attribute;
  return counted || (is_number(g, low, 0) && g.kind(high) == op::extent);
}
// And the sum at least one term?
constexpr bool has_terms(const graph& g, const reduction& r) {
  if (!is_true(g, r.condition)) return false;
  for (const node_id idx : r.indices)
    if (!is_walked(g, idx)) return false;
  return true;
}

constexpr bool is_finite(const graph& g, node_id e) {
  if (is_constant(g, e)) return math::abs(real_value(g, e)) < math::infinity;
  return g.kind(e) == op::cast && !is_floating(g.type(g.arg(e, 0)));
}

// An index that neither body nor condition nor another range depends on: a multiple for sums, nothing for idempotent
// monoids (unless its range is empty, which is why only ranges known not to be are dropped), of `any` a condition. Zero
// times a body that is not finite is still a sum over nothing.
constexpr bool drop_index(graph& g, reduction& r, node_id& factor) {
  for (int k = 0; k < r.indices.size(); ++k) {
    const int o = g.ordinal(r.indices[k]);
    bool used = g.free[r.body].has(o) || g.free[r.condition].has(o);
    for (int j = 0; j < r.indices.size(); ++j) used = used || (j != k && g.free[r.indices[j]].has(o));
    if (used || (r.kind != monoid::sum && r.kind != monoid::any)) continue;
    if (r.indices.size() > 1 && deltas::range_may_fail(g, r.indices[k])) continue;
    const index_set range = g.free[r.indices[k]];
    bool nested = false;
    for (int j = 0; j < r.indices.size(); ++j) nested = nested || (j != k && range.has(g.ordinal(r.indices[j])));
    const node_id low = g.arg(r.indices[k], 0), high = g.arg(r.indices[k], 1), size = size_of(g, r.indices[k]);
    const bool zero = r.kind == monoid::sum && (!is_floating(g.type(r.body)) || is_finite(g, r.body));
    const bool asked = r.kind == monoid::any || !(zero || is_walked(g, r.indices[k]));
    if (asked && !known_less_equal(g, make(g, op::add, low, integer(g, 1)), high))
      r.condition = conjunction(g, r.condition, make(g, op::less, low, high));
    if (r.kind == monoid::sum && nested)
      r.body = make(g, op::mul, r.body, cast_to(g, g.type(r.body), size));
    else if (r.kind == monoid::sum)
      factor = factor == no_node ? size : make(g, op::mul, factor, size);
    flat<node_id> rest;
    for (int j = 0; j < r.indices.size(); ++j)
      if (j != k) rest.push(r.indices[j]);
    r.indices = rest;
    return true;
  }
  return false;
}

// Factors, divisors and signs that no bound index reaches leave a sum. Over nothing a sum is 0, and stays it only if
// the factor is finite and the divisor not 0.
constexpr bool hoist(graph& g, reduction& r, node_id& multiple, node_id& divisor) {
  if (r.kind != monoid::sum || !is_floating(g.type(r.body))) return false;
  const index_set bound = deltas::bound_set(g, r);
  const op kind = g.kind(r.body);
  const bool terms = has_terms(g, r);
  const auto outside = [&](node_id e) { return !g.free[e].meets(bound) && !may_fail(g, e); };
  // Without terms the sum is +0 and must stay so: a gradient that nothing reaches is 0 in every bit.
  const auto keeps_zero = [&](node_id e) {
    return terms || (is_constant(g, e) && is_finite(g, e) && real_value(g, e) > 0);
  };
  if (kind == op::neg && terms) {
    multiple = make(g, op::neg, multiple == no_node ? number_like(g, r.body, 1) : multiple);
    r.body = g.arg(r.body, 0);
    return true;
  }
  if (kind == op::div) {
    const node_id by = g.arg(r.body, 1);
    if (!outside(by) || !keeps_zero(by)) return false;
    divisor = divisor == no_node ? by : make(g, op::mul, divisor, by);
    r.body = g.arg(r.body, 0);
    return true;
  }
  if (kind != op::mul) return false;
  for (int k = 0; k < 2; ++k) {
    const node_id factor = g.arg(r.body, k);
    if (!outside(factor) || !keeps_zero(factor)) continue;
    multiple = multiple == no_node ? factor : make(g, op::mul, multiple, factor);
    r.body = g.arg(r.body, 1 - k);
    return true;
  }
  return false;
}

// What holds wherever c does, of what no bound index reaches and what cannot fail.
constexpr node_id implied_outside(graph& g, node_id c, const index_set& bound) {
  const op kind = g.kind(c);
  if (kind == op::logical_and || kind == op::logical_or) {
    const node_id left = implied_outside(g, g.arg(c, 0), bound), right = implied_outside(g, g.arg(c, 1), bound);
    return kind == op::logical_and ? conjunction(g, left, right) : make(g, op::logical_or, left, right);
  }
  return g.free[c].meets(bound) || may_fail(g, c) ? truth(g, true) : c;
}

// Takes the part of the condition that no bound index reaches.
constexpr node_id take_outer_condition(graph& g, reduction& r) {
  const index_set bound = deltas::bound_set(g, r);
  flat<node_id> list;
  deltas::conjuncts(g, r.condition, list);
  node_id outer = truth(g, true), inner = outer;
  for (const node_id c : list) {
    // One that may fail stays behind those that may guard it, and within loops that may have no round.
    const bool stays = g.free[c].meets(bound) || (may_fail(g, c) && (!is_true(g, inner) || !r.indices.empty()));
    (stays ? inner : outer) = conjunction(g, stays ? inner : outer, c);
  }
  // A range that may fail was walked only where some term was.
  bool fails = false;
  for (const node_id idx : r.indices) fails = fails || deltas::range_may_fail(g, idx);
  if (fails) outer = conjunction(g, outer, implied_outside(g, inner, bound));
  r.condition = inner;
  return outer;
}

constexpr node_id intern_reduce(graph& g, const reduction& r, element type) {
  flat<node_id> list;
  list.push(r.body);
  list.push(r.condition);
  for (const node_id idx : r.indices) list.push(idx);
  return g.intern(op::reduce, type, static_cast<std::int64_t>(r.kind), list.data(), list.size());
}

constexpr node_id finish(graph& g, reduction& r, element type) {
  const node_id all = r.condition;
  const node_id outer = take_outer_condition(g, r);
  node_id result = r.body;
  if (!r.indices.empty())  // without the condition that went, more may leave the sum
    result = r.condition == all ? intern_reduce(g, r, type)
                                : reduce(g, r.kind, r.body, r.condition, r.indices.data(), r.indices.size());
  else if (g.kind(result) == op::tuple)
    result = g.arg(result, own_row_of(g, r.kind).component);
  return make(g, op::select, outer, result, identity_of(g, r.kind, type));
}

}  // namespace rules

constexpr node_id reduce(graph& g, monoid kind, node_id body, node_id condition, const node_id* indices, int count) {
  reduction r{kind, body, condition, {}};
  for (int k = 0; k < count; ++k)
    if (!r.indices.contains(indices[k])) r.indices.push(indices[k]);
  if (row(kind).boolean && g.type(r.body) != element::boolean)
    r.body = make(g, op::not_equal, r.body, number_like(g, r.body, 0));
  const element type = is_own(kind) ? own_row_of(g, kind).type : reduced_type(kind, g.type(r.body));
  deltas::separate(g, r);
  if (row(kind).position) return rules::intern_reduce(g, r, type);
  if (g.kind(r.body) != op::tuple) r.body = cast_to(g, type, r.body);
  if (kind == monoid::sum && is_number(g, r.body, 0)) return r.body;
  if (is_false(g, r.condition)) return identity_of(g, kind, type);
  node_id factor = no_node, multiple = no_node, divisor = no_node;
  bool narrowed = false;  // once, as a range may not be seen to be what it has become
  const auto narrow_by_inner = [&] {
    if (narrowed || r.indices.size() == 1) return false;
    narrowed = true;
    return deltas::narrow_by_inner(g, r);
  };
  const auto split_digits = [&] {
    bool asks_ranges = false;
    return deltas::split_digits(g, r, asks_ranges) || (asks_ranges && deltas::narrow_range(g, r));
  };
  for (bool again = true; again;) {  // what is left of a body may let a factor go that stood beside what went
    while (rules::lift_condition(g, r) || split_digits() || deltas::resolve_equality(g, r) ||
           deltas::narrow_range(g, r) || rules::join_nested(g, r) || rules::drop_index(g, r, factor) ||
           rules::hoist(g, r, multiple, divisor) || narrow_by_inner()) {
      if (is_false(g, r.condition)) return identity_of(g, kind, type);
    }
    again = false;
    if (kind == monoid::sum && is_floating(type) && r.indices.size() == 1 && is_true(g, r.condition)) {
      const node_id rest = rules::without_centred(g, r, r.body);
      again = rest != r.body;
      r.body = rest;
      if (is_number(g, r.body, 0)) return r.body;
    }
  }
  node_id result = rules::finish(g, r, type);
  if (factor != no_node) result = make(g, op::mul, result, cast_to(g, type, factor));
  if (multiple != no_node) result = make(g, op::mul, multiple, result);
  return divisor == no_node ? result : make(g, op::div, result, divisor);
}

}  // namespace sheaf::inline v0_1
