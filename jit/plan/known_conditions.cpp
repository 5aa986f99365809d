#include <sheaf/jit/plan/known_conditions.hpp>

#include <algorithm>
#include <utility>

#include <sheaf/dsl/graph/affine.hpp>
#include <sheaf/jit/plan/rewrite.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

// Without the prover of several inequalities at once: each comparison would call it twice.
constexpr int ranges_alone = 1;

// a <= b where n, which asks it, is evaluated: by what is known of the ranges of its indices, which have places.
bool is_at_most(graph& g, node_id n, node_id a, node_id b) {
  if (known_less_equal(g, a, b, ranges_alone)) return true;
  if (g.kind(b) == op::minimum) return is_at_most(g, n, a, g.arg(b, 0)) && is_at_most(g, n, a, g.arg(b, 1));
  if (!g.free[a].empty() || !g.free[b].empty()) return false;
  return std::ranges::any_of(indices_of(g, g.free[n]), [&](node_id idx) {
    return known_less_equal(g, a, g.arg(idx, 0), ranges_alone) &&
           known_less_equal(g, make(g, op::sub, g.arg(idx, 1), integer(g, 1)), b, ranges_alone);
  });
}

// What a comparison, an extremum, or a place in a period is worth; n itself where that is not known.
node_id outcome(graph& g, node_id n) {
  const node_id a = g.arg(n, 0), b = g.arg(n, 1);
  const op kind = g.kind(n);
  if (kind == op::remainder || kind == op::quotient) {
    const node_id zero = integer(g, 0);
    const bool within = is_at_most(g, n, zero, a) && is_at_most(g, n, make(g, op::add, a, integer(g, 1)), b);
    return !within ? n : kind == op::remainder ? a : zero;
  }
  if (kind == op::minimum || kind == op::maximum) {
    const node_id least = kind == op::minimum ? a : b, most = kind == op::minimum ? b : a;
    return is_at_most(g, n, a, b) ? least : is_at_most(g, n, b, a) ? most : n;
  }
  const bool is_less = kind == op::less;
  const auto below = [&](node_id x, node_id y, bool strictly) {
    return is_at_most(g, n, strictly ? make(g, op::add, x, integer(g, 1)) : x, y);
  };
  return below(a, b, is_less) ? truth(g, true) : below(b, a, !is_less) ? truth(g, false) : n;
}

}  // namespace

bool take_known_conditions(const context& c, stage& s) {
  graph& g = c.g;
  std::vector<node_id> asked;
  for_each_node(g, s.body, [&](node_id n) {
    const op kind = g.kind(n);
    const bool orders = kind == op::less || kind == op::less_equal || kind == op::minimum || kind == op::maximum;
    const bool divides = kind == op::remainder || kind == op::quotient;
    if ((orders || divides) && g.type(g.arg(n, 0)) == element::i64 && !g.free[n].empty() && !holds(g, n, op::load) &&
        !holds(g, n, op::reduce))
      asked.push_back(n);
  });
  replacement all(g, proofs::kept);
  all.keep_indices(s.body);
  for (const node_id n : asked)
    if (const node_id known = outcome(g, n); known != n) all.add(n, known);
  const node_id before = std::exchange(s.body, all(s.body));
  return s.body != before;
}

}  // namespace sheaf::inline v0_1::plan
