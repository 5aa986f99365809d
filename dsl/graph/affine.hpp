// What is known of an integer expression: its slope along an index, and bounds that hold whatever the data.
// Shown by tests/static/deltas.cpp.
#pragma once
#include <sheaf/dsl/graph/linear.hpp>

namespace sheaf::inline v0_1 {

// e = slope * idx + rest, where rest does not depend on idx.
struct line {
  bool affine = false;
  std::int64_t slope = 0;
  node_id rest = no_node;
};

// A slope beyond this is not followed: times an extent it may leave i64.
inline constexpr std::int64_t steepest = INT32_MAX;

constexpr line split_affine(graph& g, node_id e, node_id idx) {
  if (!g.free[e].has(g.ordinal(idx))) return {true, 0, e};
  if (e == idx) return {true, 1, integer(g, 0)};
  const auto sloped = [](std::int64_t slope, node_id rest) {
    return slope < -steepest || slope > steepest ? line{} : line{true, slope, rest};
  };
  const op kind = g.kind(e);
  if (kind == op::add || kind == op::sub) {
    const line a = split_affine(g, g.arg(e, 0), idx), b = split_affine(g, g.arg(e, 1), idx);
    if (!a.affine || !b.affine) return {};
    return sloped(kind == op::add ? a.slope + b.slope : a.slope - b.slope, make(g, kind, a.rest, b.rest));
  }
  if (kind == op::neg) {
    const line a = split_affine(g, g.arg(e, 0), idx);
    return a.affine ? line{true, -a.slope, make(g, op::neg, a.rest)} : line{};
  }
  if (kind == op::mul) {
    for (int k = 0; k < 2; ++k) {
      const node_id factor = g.arg(e, k);
      if (!is_constant(g, factor)) continue;
      const line a = split_affine(g, g.arg(e, 1 - k), idx);
      const std::int64_t times = g[factor].attribute;
      if (!a.affine || times < -steepest || times > steepest) return {};
      return sloped(a.slope * times, make(g, op::mul, a.rest, factor));
    }
  }
  return {};
}

// slope * at + rest; no_node where the numbers among them show that it leaves i64.
constexpr node_id point_of(graph& g, const line& l, node_id at) {
  if (l.slope == 0) return l.rest;
  std::int64_t product = 0, sum = 0;
  if (is_constant(g, at)) {
    if (__builtin_mul_overflow(g[at].attribute, l.slope, &product)) return no_node;
    if (is_constant(g, l.rest) && __builtin_add_overflow(product, g[l.rest].attribute, &sum)) return no_node;
  }
  return make(g, op::add, l.rest, make(g, op::mul, at, integer(g, l.slope)));
}

constexpr bool known_less_equal(graph& g, node_id a, node_id b, int depth = 0);

// a <= b through the range of an index in a: low <= i and i <= high - 1.
constexpr bool known_by_range(graph& g, node_id a, node_id b, int depth) {
  for (int o = 0; o < g.indices.size(); ++o) {
    const node_id idx = g.indices[o];
    if (is_unbound(g, idx)) continue;
    const bool left = g.free[a].has(o), right = g.free[b].has(o);
    if (left == right) continue;
    const line l = split_affine(g, left ? a : b, idx);
    if (!l.affine || l.slope == 0) continue;
    const bool top = (l.slope > 0) == left;  // worst case: the largest a, the smallest b
    const node_id edge = top ? make(g, op::add, g.arg(idx, 1), integer(g, -1)) : g.arg(idx, 0);
    const node_id worst = point_of(g, l, edge);
    if (worst == no_node) continue;
    if (known_less_equal(g, left ? worst : a, left ? b : worst, depth + 1)) return true;
  }
  return false;
}

constexpr bool known_less_equal(graph& g, node_id a, node_id b, int depth) {
  if (known_equal(g, a, b)) return true;
  if (is_constant(g, a) && is_constant(g, b)) return g[a].attribute <= g[b].attribute;
  const node_id gap = make(g, op::sub, b, a);
  if (is_constant(g, gap)) return g[gap].attribute >= 0;
  if (depth > 4) return false;
  const auto sum = [&](node_id e, node_id& base, std::int64_t& add) {
    const bool shifted = g.kind(e) == op::add && is_constant(g, g.arg(e, 1));
    base = shifted ? g.arg(e, 0) : e;
    add = shifted ? g[g.arg(e, 1)].attribute : 0;
  };
  node_id base_a = a, base_b = b;
  std::int64_t add_a = 0, add_b = 0;
  sum(a, base_a, add_a);
  sum(b, base_b, add_b);
  if (known_equal(g, base_a, base_b)) return add_a <= add_b;
  if (is_constant(g, a) && g.kind(base_b) == op::extent) return g[a].attribute <= add_b;  // extents are not negative
  const bool divides = g.kind(b) == op::remainder || g.kind(b) == op::quotient;
  if (divides && g.type(b) == element::i64 && is_constant(g, a) && g[a].attribute <= 0) {
    const node_id zero = integer(g, 0);
    if (g.kind(b) == op::quotient && !known_less_equal(g, zero, g.arg(b, 0), depth + 1)) return false;
    if (known_less_equal(g, zero, g.arg(b, 1), depth + 1)) return true;
  }
  const node_id shift = integer(g, add_a);
  if (g.kind(base_a) == op::minimum)
    return known_less_equal(g, make(g, op::add, g.arg(base_a, 0), shift), b, depth + 1) ||
           known_less_equal(g, make(g, op::add, g.arg(base_a, 1), shift), b, depth + 1);
  if (g.kind(base_a) == op::maximum)
    return known_less_equal(g, make(g, op::add, g.arg(base_a, 0), shift), b, depth + 1) &&
           known_less_equal(g, make(g, op::add, g.arg(base_a, 1), shift), b, depth + 1);
  const node_id rise = integer(g, add_b);
  if (g.kind(base_b) == op::maximum)
    return known_less_equal(g, a, make(g, op::add, g.arg(base_b, 0), rise), depth + 1) ||
           known_less_equal(g, a, make(g, op::add, g.arg(base_b, 1), rise), depth + 1);
  return known_by_range(g, a, b, depth) || (depth == 0 && proven_less_equal(g, a, b));
}

// The stricter of two bounds, of ends their minimum, of beginnings their maximum: one of them where that is known.
constexpr node_id stricter(graph& g, op cut, node_id a, node_id b) {
  const bool ends = cut == op::minimum;
  if (known_less_equal(g, ends ? a : b, ends ? b : a)) return a;
  if (known_less_equal(g, ends ? b : a, ends ? a : b)) return b;
  return make(g, cut, a, b);
}

constexpr bool lies_in_range(graph& g, node_id from, node_id to) {
  if (from == to) return true;
  return g.kind(from) == op::index && !is_unbound(g, from) && g.type(to) == element::i64 &&
         known_less_equal(g, g.arg(from, 0), to) &&
         known_less_equal(g, make(g, op::add, to, integer(g, 1)), g.arg(from, 1));
}

// a <= b, of integers, as a conjunction: a maximum on the left or a minimum on the right holds arm by arm. What is
// known is left out.
constexpr node_id at_most(graph& g, node_id a, node_id b, bool strict = false) {
  const bool largest = strict && is_constant(g, a) && g[a].attribute == INT64_MAX;  // one more would be the smallest
  if (!largest && known_less_equal(g, strict ? make(g, op::add, a, integer(g, 1)) : a, b)) return truth(g, true);
  const bool left = g.kind(a) == op::maximum;
  if (!left && g.kind(b) != op::minimum) return make(g, strict ? op::less : op::less_equal, a, b);
  node_id both = truth(g, true);
  for (int k = 0; k < 2; ++k)
    both = conjunction(g, both, left ? at_most(g, g.arg(a, k), b, strict) : at_most(g, a, g.arg(b, k), strict));
  return both;
}

// low <= e < high, leaving out what is known.
constexpr node_id range_condition(graph& g, node_id e, node_id low, node_id high) {
  return conjunction(g, at_most(g, low, e), at_most(g, e, high, true));
}

}  // namespace sheaf::inline v0_1
