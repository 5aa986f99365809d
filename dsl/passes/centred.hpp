// A rule of sums: differences to their own mean vanish. Input: the reduction and its body. Output: the body without
// such terms. Shown by tests/static/deltas.cpp.
#pragma once
#include <sheaf/dsl/passes/reduction.hpp>

namespace sheaf::inline v0_1::rules {

// Is e the mean of a over the one index of r? Then the sum of a - e is 0, and what rounding would leave of it is
// dropped.
constexpr bool is_mean_of(graph& g, const reduction& r, node_id a, node_id e) {
  if (g.kind(e) == op::load && g.kind(g.arg(e, 0)) == op::define) {
    flat<node_id> at;
    for (int k = 1; k < g[e].count; ++k) at.push(g.arg(e, k));
    e = inlined(g, g.arg(e, 0), at.data());
  }
  if (g.kind(e) != op::div || g.kind(g.arg(e, 0)) != op::reduce || g.kind(g.arg(e, 1)) != op::cast) return false;
  const node_id sum = g.arg(e, 0), idx = r.indices[0];
  if (monoid_of(g, sum) != monoid::sum || g[sum].count != 3 || !is_true(g, g.arg(sum, 1)) || g.type(sum) != g.type(a))
    return false;
  const node_id own = g.arg(sum, 2);
  if (!known_equal(g, g.arg(own, 0), g.arg(idx, 0)) || !known_equal(g, g.arg(own, 1), g.arg(idx, 1))) return false;
  const node_id count = g.arg(g.arg(e, 1), 0);
  if (!known_equal(g, count, size_of(g, idx))) return false;
  return (own == idx ? a : substitution(g, &idx, &own, 1)(a)) == g.arg(sum, 0);
}

// A sum's body without the terms c * (a - mean of a).
constexpr node_id without_centred(graph& g, const reduction& r, node_id e, int depth = 0) {
  const op kind = g.kind(e);
  const bool linear = kind == op::add || kind == op::sub || kind == op::mul || kind == op::neg;
  if (!linear || depth > 6 || !g.free[e].meets(deltas::bound_set(g, r))) return e;
  const node_id zero = number_like(g, e, 0);
  if (kind == op::sub && is_mean_of(g, r, g.arg(e, 0), g.arg(e, 1))) return zero;
  if (kind == op::neg) return make(g, op::neg, without_centred(g, r, g.arg(e, 0), depth + 1));
  if (kind == op::mul) {
    for (int k = 0; k < 2; ++k)
      if (!g.free[g.arg(e, k)].meets(deltas::bound_set(g, r)) &&
          without_centred(g, r, g.arg(e, 1 - k), depth + 1) == zero)
        return zero;
    return e;
  }
  const node_id a = without_centred(g, r, g.arg(e, 0), depth + 1), b = without_centred(g, r, g.arg(e, 1), depth + 1);
  if (a == g.arg(e, 0) && b == g.arg(e, 1)) return e;
  if (b == zero) return a;
  if (a == zero) return kind == op::add ? b : make(g, op::neg, b);
  return make(g, kind, a, b);
}

}  // namespace sheaf::inline v0_1::rules
