// A subscript at a remainder, in parts in each of which it is affine. Input: a remainder of an affine expression in one
// index. Output: its parts, each where a condition holds. See algorithms/scatter/moved_inside.hpp and piecewise.hpp.
#pragma once
#include <optional>

#include <sheaf/dsl/graph/affine.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::plan {

// Where it is true, a subscript is `at`.
struct subscript_part {
  node_id where, at;
};

// e = slope * x + more, of small numbers.
struct multiples {
  std::int64_t slope, more;
};
inline std::optional<multiples> in_multiples(const graph& g, node_id e, node_id x) {
  if (e == x) return multiples{1, 0};
  if (is_constant(g, e) && g[e].attribute > -steepest && g[e].attribute < steepest)
    return multiples{0, g[e].attribute};
  if (!is_elementwise(g.kind(e)) || g[e].count != 2) return std::nullopt;
  const auto a = in_multiples(g, g.arg(e, 0), x), b = in_multiples(g, g.arg(e, 1), x);
  if (!a || !b || std::max(a->slope, b->slope) > 16) return std::nullopt;
  if (g.kind(e) == op::add) return multiples{a->slope + b->slope, a->more + b->more};
  if (g.kind(e) == op::sub) return multiples{a->slope - b->slope, a->more - b->more};
  if (g.kind(e) != op::mul || (a->slope != 0 && b->slope != 0)) return std::nullopt;
  const multiples& m = a->slope == 0 ? *b : *a;
  const std::int64_t by = a->slope == 0 ? a->more : b->more;
  if (by < -16 || by > 16) return std::nullopt;
  return multiples{m.slope * by, m.more * by};
}

// count <= most, also of max(2 (count - 1), 1): up to a number that is an arm, or the other arm is as large beyond it.
inline bool has_at_most(graph& g, node_id count, node_id most) {
  if (known_less_equal(g, count, most)) return true;
  if (g.kind(most) != op::maximum) return false;
  for (int k = 0; k < 2; ++k) {
    const node_id number = g.arg(most, k);
    if (!is_constant(g, number)) continue;
    const auto other = in_multiples(g, g.arg(most, 1 - k), count);
    const std::int64_t from = g[number].attribute + 1;
    if (other && from > 0 && from <= steepest && other->slope >= 1)
      return (other->slope - 1) * from + other->more >= 0;
  }
  return false;
}

// How many times at most an index goes through all remainders; 0: not known. Of calls of one class where the extents
// decide.
inline int periods_of(graph& g, node_id idx, node_id by, const facts* known) {
  if (has_at_most(g, make(g, op::sub, g.arg(idx, 1), g.arg(idx, 0)), by)) return 1;
  if (known == nullptr || !is_constant(g, by) || !is_closed(g, idx)) return 0;
  const double period = static_cast<double>(g[by].attribute);
  if (period < tuning::scatter::least_period) return 0;
  const amount trips = known->trips(idx);
  return trips.is_at_most(period) ? 1 : trips.is_at_most(2 * period) ? 2 : 0;
}

// The remainder e of shift + (i - low), of an index that has no more places than the divisor: that sum with the shift's
// remainder, less the divisor where it reaches it; of twice as many without a shift. Nothing where e is none, as seen
// from these indices.
inline std::vector<subscript_part> parts_of_remainder(graph& g, node_id e, const index_set& of,
                                                      const facts* known = nullptr) {
  const node_id s = g.arg(e, 0), by = g.arg(e, 1);
  if (g.type(e) != element::i64 || g.free[by].meets(of)) return {};
  if (known_less_equal(g, integer(g, 0), s) && known_less_equal(g, plus(g, s, 1), by)) return {{truth(g, true), s}};
  const std::vector<node_id> within = indices_of(g, g.free[s].common(of));
  if (within.size() != 1 || is_unbound(g, within.front())) return {};
  const node_id idx = within.front(), low = g.arg(idx, 0);
  const line l = split_affine(g, s, idx);
  if (!l.affine || l.slope != 1) return {};
  const int periods = periods_of(g, idx, by, known);
  const node_id shift = make(g, op::add, l.rest, low), place = make(g, op::sub, idx, low);
  if (periods == 0 || (periods == 2 && !is_number(g, shift, 0))) return {};
  if (periods == 1 && is_number(g, shift, 0)) return {{truth(g, true), place}};
  const node_id sum = make(g, op::add, place, make(g, op::remainder, shift, by));
  return {{make(g, op::less, sum, by), sum}, {make(g, op::less_equal, by, sum), make(g, op::sub, sum, by)}};
}

}  // namespace sheaf::inline v0_1::plan
