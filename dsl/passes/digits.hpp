// Equalities of a number with its digits, as subscripts of flattened tensors make them: where 0 <= q < 3 and
// 0 <= p < 3, r == 9 * c + 3 * p + q says c == r / 9, p == r % 9 / 3 and q == r % 3. Solved for q alone, each r would
// ask all c and p. So one equality becomes two, of which each is solved.
// Input: a reduction. Output: an equal one. Shown by tests/static/digits.cpp.
#pragma once
#include <sheaf/dsl/graph/affine.hpp>
#include <sheaf/dsl/passes/reduction.hpp>

namespace sheaf::inline v0_1 {

namespace deltas {

// digit + base * rest == number, terms that the bound indices reach on the left.
struct digits {
  node_id base = no_node, digit = no_node, rest = no_node;
  node_id low = no_node, high = no_node;  // number = low + base * high
  int within = 0, beyond = 0;             // terms of the digit and of the rest
  int indices = 0, other = 0;             // terms of the number: indices, and other ones that are not closed
};

// e / base, where e is seen to be a multiple of it.
constexpr node_id quotient_of_multiple(graph& g, node_id e, node_id base) {
  if (known_equal(g, e, base)) return integer(g, 1);
  if (g.kind(e) != op::mul) return no_node;
  for (int k = 0; k < 2; ++k)
    if (const node_id q = quotient_of_multiple(g, g.arg(e, k), base); q != no_node)
      return make(g, op::mul, q, g.arg(e, 1 - k));
  return no_node;
}
constexpr node_id quotient_of_term(graph& g, const linear::term& t, node_id base) {
  if (!is_constant(g, base)) {
    const node_id q = quotient_of_multiple(g, t.node, base);
    return q == no_node ? no_node : make(g, op::mul, q, integer(g, t.factor));
  }
  const std::int64_t by = g[base].attribute;
  return t.factor % by == 0 ? make(g, op::mul, t.node, integer(g, t.factor / by)) : no_node;
}

// The sum is 0. flipped: its negative, which is as well.
constexpr digits split_by(graph& g, const linear& sum, const index_set& bound, node_id base, bool flipped) {
  digits d{base, integer(g, 0), integer(g, 0), integer(g, 0), integer(g, 0)};
  const std::int64_t sign = flipped ? -1 : 1;
  const auto add = [&](node_id& to, node_id e) { to = make(g, op::add, to, e); };
  for (int i = 0; i < sum.terms.size(); ++i) {
    linear::term t = sum.terms[i];
    if (t.factor == 0) continue;
    const bool inside = g.free[t.node].meets(bound);
    t.factor *= inside ? sign : -sign;
    const node_id q = quotient_of_term(g, t, base);
    if (inside) ++(q == no_node ? d.within : d.beyond);
    else if (!g.free[t.node].empty()) ++(g.kind(t.node) == op::index && q == no_node ? d.indices : d.other);
    if (q != no_node) add(inside ? d.rest : d.high, q);
    else add(inside ? d.digit : d.low, make(g, op::mul, t.node, integer(g, t.factor)));
  }
  add(d.low, integer(g, -sign * sum.constant));
  return d;
}

// The least that the digit is, so that it is one: from * .. * from + base - 1; no_node: it is none.
constexpr node_id least_of_digit(graph& g, const digits& d) {
  flat<node_id> list;
  list.push(integer(g, 0));
  if (g.kind(d.digit) == op::index) list.push(g.arg(d.digit, 0));
  for (int i = 0; i < list.size(); ++i) {
    if (g.kind(list[i]) == op::maximum) {
      list.push(g.arg(list[i], 0));
      list.push(g.arg(list[i], 1));
    }
    const node_id last = make(g, op::add, list[i], make(g, op::sub, d.base, integer(g, 1)));
    if (known_less_equal(g, list[i], d.digit) && known_less_equal(g, d.digit, last)) return list[i];
  }
  return no_node;
}

// May no term leave i64? There numbers wrap, and one is that of several digits.
constexpr bool is_small(const linear& sum) {
  bool small = !sum.wrapped && sum.constant >= -steepest && sum.constant <= steepest;
  for (int i = 0; i < sum.terms.size(); ++i)
    small = small && sum.terms[i].factor >= -steepest && sum.terms[i].factor <= steepest;
  return small;
}
// Made of extents and small numbers alone.
constexpr bool is_of_extents(const graph& g, node_id e) {
  if (g.kind(e) == op::extent) return true;
  if (is_constant(g, e)) return g[e].attribute >= -steepest && g[e].attribute <= steepest;
  if (!is_elementwise(g.kind(e)) || g.type(e) != element::i64) return false;
  for (int k = 0; k < g[e].count; ++k)
    if (!is_of_extents(g, g.arg(e, k))) return false;
  return true;
}

// What may be the base: factors of what the bound indices reach, and what their terms are multiplied by.
constexpr void push_bases(graph& g, const linear& sum, const index_set& bound, flat<node_id>& bases) {
  const auto push = [&](node_id e) {
    if (!bases.contains(e)) bases.push(e);
  };
  const auto push_factors = [&](const auto& self, node_id e) -> void {
    if (g.kind(e) != op::mul) return;
    for (int k = 0; k < 2; ++k) {
      const node_id factor = g.arg(e, k);
      if (is_of_extents(g, factor)) push(factor);
      self(self, factor);
    }
  };
  for (int i = 0; i < sum.terms.size(); ++i) {
    const linear::term& t = sum.terms[i];
    if (!g.free[t.node].meets(bound)) continue;
    const std::int64_t size = t.factor < 0 ? -t.factor : t.factor;
    if (size > 1) push(integer(g, size));
    push_factors(push_factors, t.node);
  }
}

// Few places of one index in steps: their sums are of phases (plan/algorithms/polyphase), without a division.
inline constexpr std::int64_t longest_phase = 64;

constexpr bool is_phase(const graph& g, const digits& d) {
  const bool steps = d.indices == 1 && d.other == 0 && d.within == 1 && d.beyond == 1;
  return steps && is_constant(g, d.base) && g[d.base].attribute <= longest_phase;
}

// The conjuncts that say the same; no_node: there are no digits.
constexpr node_id as_digits(graph& g, const reduction& r, node_id equality, bool& asks_ranges) {
  linear sum;
  collect(g, g.arg(equality, 0), 1, sum);
  collect(g, g.arg(equality, 1), -1, sum);
  if (!is_small(sum)) return no_node;
  const index_set bound = bound_set(g, r);
  flat<node_id> bases;
  push_bases(g, sum, bound, bases);
  for (int i = 0; i < bases.size(); ++i)
    for (const bool flipped : {false, true}) {
      const digits d = split_by(g, sum, bound, bases[i], flipped);
      if (d.within == 0 || d.beyond == 0 || is_phase(g, d)) continue;
      const node_id least = least_of_digit(g, d);
      asks_ranges = asks_ranges || least == no_node;
      if (least == no_node) continue;
      const node_id number = make(g, op::sub, d.low, least);
      const node_id digit = make(g, op::add, least, make(g, op::remainder, number, d.base));
      const node_id rest = make(g, op::add, d.high, make(g, op::quotient, number, d.base));
      return conjunction(g, make(g, op::equal, d.digit, digit), make(g, op::equal, d.rest, rest));
    }
  return no_node;
}

// One equality of the condition, as two.
constexpr bool split_digits(graph& g, reduction& r, bool& asks_ranges) {
  flat<node_id> list;
  conjuncts(g, r.condition, list);
  for (int i = 0; i < list.size(); ++i) {
    if (g.kind(list[i]) != op::equal || g.type(g.arg(list[i], 0)) != element::i64) continue;
    int count = 0;
    for (const node_id idx : r.indices) count += g.free[list[i]].has(g.ordinal(idx));
    if (count < 2 || may_fail(g, list[i])) continue;
    const node_id both = as_digits(g, r, list[i], asks_ranges);
    if (both == no_node) continue;
    node_id all = truth(g, true);
    for (int k = 0; k < list.size(); ++k) all = conjunction(g, all, k == i ? both : list[k]);
    r.condition = all;
    return true;
  }
  return false;
}

}  // namespace deltas

}  // namespace sheaf::inline v0_1
