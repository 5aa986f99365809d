// Integer expressions as sums of multiples, and a proof that such a sum is never negative: each index is taken at the
// end of its range that makes the sum least, a minimum or maximum by its arms, a quotient by what it is rounded from.
// Windows need it: the tap u.in(max(0, p - s * o), ...) at s * o - p + u is inside whatever o. Shown by
// tests/static/linear.cpp.
#pragma once
#include <sheaf/dsl/graph/make.hpp>

namespace sheaf::inline v0_1 {

// Are two expressions equal, given what the program checks before a launch?
constexpr bool known_equal(const graph& g, node_id a, node_id b) {
  if (a == b) return true;
  flat<node_id> reached;
  reached.push(a);
  for (int i = 0; i < reached.size(); ++i)
    for (const constraint& c : g.constraints) {
      const node_id next = c.left == reached[i] ? c.right : c.right == reached[i] ? c.left : no_node;
      if (next == b) return true;
      if (next != no_node && !reached.contains(next)) reached.push(next);
    }
  return false;
}

// constant + the sum of factor * node over the terms.
struct linear {
  struct term {
    node_id node;
    std::int64_t factor;
  };
  flat<term> terms;
  std::int64_t constant = 0;
  std::int64_t scale = 1;  // the sum is so many times a whole number
  bool wrapped = false;    // a number left i64: nothing is known

  constexpr void add(const graph& g, node_id e, std::int64_t factor) {
    for (int i = 0; i < terms.size(); ++i) {
      const bool same = terms[i].node == e || (g.kind(e) == op::extent && known_equal(g, terms[i].node, e));
      if (same) return increase(terms[i].factor, factor, 1);
    }
    terms.push({e, factor});
  }
  constexpr void multiply(std::int64_t by) {
    constant = product(constant, by);
    scale = product(scale, by);
    for (int i = 0; i < terms.size(); ++i) terms[i].factor = product(terms[i].factor, by);
  }
  // sum += a * b.
  constexpr void increase(std::int64_t& sum, std::int64_t a, std::int64_t b) {
    wrapped = __builtin_add_overflow(sum, product(a, b), &sum) || wrapped;
  }
  constexpr std::int64_t product(std::int64_t a, std::int64_t b) {
    std::int64_t result = 0;
    wrapped = __builtin_mul_overflow(a, b, &result) || wrapped;
    return result;
  }
};

// l += factor * e.
constexpr void collect(const graph& g, node_id e, std::int64_t factor, linear& l) {
  const op kind = g.kind(e);
  if (g.type(e) != element::i64) return l.add(g, e, factor);
  if (kind == op::constant) {
    l.increase(l.constant, factor, g[e].attribute);
  } else if (kind == op::add || kind == op::sub) {
    collect(g, g.arg(e, 0), factor, l);
    collect(g, g.arg(e, 1), kind == op::add ? factor : l.product(factor, -1), l);
  } else if (kind == op::neg) {
    collect(g, g.arg(e, 0), l.product(factor, -1), l);
  } else if (kind == op::mul && is_constant(g, g.arg(e, 1))) {
    collect(g, g.arg(e, 0), l.product(factor, g[g.arg(e, 1)].attribute), l);
  } else if (kind == op::mul && is_constant(g, g.arg(e, 0))) {
    collect(g, g.arg(e, 1), l.product(factor, g[g.arg(e, 0)].attribute), l);
  } else {
    l.add(g, e, factor);
  }
}

namespace linears {

// Has a divisor that is a positive constant.
constexpr bool divides_by_constant(const graph& g, node_id e) {
  return is_constant(g, g.arg(e, 1)) && g[g.arg(e, 1)].attribute > 0 && g[g.arg(e, 1)].attribute < 65536;
}
constexpr bool bounded(const graph& g, node_id e) {
  const op kind = g.kind(e);
  if (kind == op::index) return !is_unbound(g, e);
  if (g.type(e) != element::i64) return false;
  if (kind == op::quotient || kind == op::remainder) return divides_by_constant(g, e);
  return kind == op::minimum || kind == op::maximum;
}

// Where low < high holds for high = max(low, n), the maximum is n.
constexpr node_id beyond(const graph& g, node_id low, node_id high) {
  if (g.kind(high) != op::maximum) return high;
  for (int k = 0; k < 2; ++k) {
    const node_id arm = g.arg(high, k);
    if (arm == low || (is_constant(g, arm) && is_constant(g, low) && g[arm].attribute <= g[low].attribute))
      return g.arg(high, 1 - k);
  }
  return high;
}

constexpr bool never_negative(const graph& g, linear l, int& budget);

// The sum with term `at` replaced by e.
constexpr bool with(const graph& g, const linear& l, int at, node_id e, int& budget) {
  linear next = l;
  next.terms[at].factor = 0;
  collect(g, e, l.terms[at].factor, next);
  return never_negative(g, next, budget);
}

constexpr bool never_negative(const graph& g, linear l, int& budget) {
  if (l.wrapped || --budget < 0) return false;
  int at = -1;  // the youngest: what it is made of is older, so what cancels has the time to
  for (int i = 0; i < l.terms.size(); ++i)
    if (l.terms[i].factor != 0 && bounded(g, l.terms[i].node) && (at < 0 || l.terms[i].node > l.terms[at].node)) at = i;
  for (int i = 0; at < 0 && i < l.terms.size(); ++i)  // an extent that is checked to be what an expression says
    if (l.terms[i].factor != 0 && g.kind(l.terms[i].node) == op::extent)
      for (const constraint& c : g.constraints) {
        const node_id other = c.left == l.terms[i].node ? c.right : c.right == l.terms[i].node ? c.left : no_node;
        if (other == no_node || g.kind(other) == op::extent || is_constant(g, other)) continue;
        return with(g, l, i, other, budget);
      }
  if (at < 0) {
    for (const linear::term& t : l.terms)
      if (t.factor < 0 || (t.factor > 0 && g.kind(t.node) != op::extent)) return false;
    return l.constant > -l.scale;
  }
  const node_id e = l.terms[at].node;
  const bool rising = l.terms[at].factor > 0;
  switch (g.kind(e)) {
    case op::index:
      if (rising) return with(g, l, at, g.arg(e, 0), budget);
      l.increase(l.constant, l.terms[at].factor, -1);
      return with(g, l, at, beyond(g, g.arg(e, 0), g.arg(e, 1)), budget);
    case op::minimum:
    case op::maximum: {
      const bool either = rising == (g.kind(e) == op::maximum);
      const bool first = with(g, l, at, g.arg(e, 0), budget);
      return first == either ? first : with(g, l, at, g.arg(e, 1), budget);
    }
    case op::quotient: {  // by * quotient(a, by) is from a - by + 1 to a
      const std::int64_t by = g[g.arg(e, 1)].attribute;
      if (l.terms[at].factor % by != 0) l.multiply(by);
      l.terms[at].factor /= by;
      if (rising) l.increase(l.constant, l.terms[at].factor, 1 - by);
      return with(g, l, at, g.arg(e, 0), budget);
    }
    default:  // a remainder
      if (!rising) l.increase(l.constant, l.terms[at].factor, g[g.arg(e, 1)].attribute - 1);
      l.terms[at].factor = 0;
      return never_negative(g, l, budget);
  }
}

}  // namespace linears

// a <= b, as far as the ranges of the indices in them say it. False where nothing is known.
constexpr bool proven_less_equal(const graph& g, node_id a, node_id b) {
  linear gap;
  collect(g, b, 1, gap);
  collect(g, a, -1, gap);
  int budget = 64;
  return linears::never_negative(g, gap, budget);
}

}  // namespace sheaf::inline v0_1
