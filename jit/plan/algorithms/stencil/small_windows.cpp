#include <sheaf/jit/plan/algorithms/stencil/small_windows.hpp>

#include <algorithm>

#include <sheaf/dsl/graph/affine.hpp>
#include <sheaf/jit/plan/bounds.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/shape_facts.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::plan {

void arms(const graph& g, node_id e, op kind, std::vector<node_id>& list) {
  if (g.kind(e) != kind) return list.push_back(e);
  for (int k = 0; k < 2; ++k) arms(g, g.arg(e, k), kind, list);
}

std::vector<node_id> chain_of(const graph& g, node_id reduce) {
  std::vector<node_id> terms;
  if (is_chain_of_terms(g, reduce)) arms(g, g.arg(reduce, 0), row(monoid_of(g, reduce)).combine, terms);
  return terms;
}

namespace {

using tuning::stencil::few_points;
using tuning::stencil::most_points;

// Indices of an expression stay those of the loops around it, whatever is replaced in their ranges.
replacement around_indices(graph& g, node_id e) {
  replacement put(g, proofs::kept);
  for_each_node(g, e, [&](node_id n) {
    if (g.kind(n) == op::index) put.rename(n, n);
  });
  return put;
}

// An expression for this call's number of places.
node_id with_numbers(graph& g, node_id e, std::span<const window> windows) {
  replacement put = around_indices(g, e);
  for (const window& w : windows)
    if (w.extent != no_node) put.add(w.extent, integer(g, w.places));
  return put(e);
}

// A stride leaves fewer places of a window than its extent has.
std::int64_t fewest_places(graph& g, const window& w, node_id high) {
  const node_id begin = with_numbers(g, w.base, {&w, 1}), end = with_numbers(g, high, {&w, 1});
  std::int64_t n = 1;
  while (n < w.count && !proven_less_equal(g, end, plus(g, begin, n))) ++n;
  return n;
}

// As many as an extent has places, as those of a convolution's weights: the call's number, which the plan is for; fewer
// than `than`, if that is not 0.
window places_between(const context& c, node_id idx, node_id low, node_id high, std::int64_t than) {
  auto& [g, known, before] = c;
  std::vector<node_id> extents;
  for (const node_id end : {low, high})
    for_each_node(g, end, [&](node_id n) {
      if (g.kind(n) == op::extent) extents.push_back(n);
    });
  window best{idx, low, 0};
  for (const node_id n : extents) {
    if (!proven_less_equal(g, high, make(g, op::add, low, n))) continue;
    const auto places = known.value(n);
    if (!places || *places < 1 || *places > most_points || !places->may_be_fixed()) continue;
    if (const amount own = places->certain(); own < 1 || own > most_points) continue;  // it may be of a class of others
    // Of a range that does not move no stride leaves fewer.
    if (than != 0 && g.free[low].empty() && !(*places < static_cast<double>(than))) continue;
    window found{idx, low, places->whole(), n, places->whole()};
    found.count = fewest_places(g, found, high);
    if (best.count == 0 || found.count < best.count) best = found;
  }
  return best;
}

window places_of_extents(const context& c, node_id idx, std::span<const node_id> lows,
                         std::span<const node_id> highs, std::int64_t than) {
  window best{idx, no_node, 0};
  for (const node_id low : lows)
    for (const node_id high : highs)
      if (const window found = places_between(c, idx, low, high, than);
          found.count != 0 && (best.count == 0 || found.count < best.count))
        best = found;
  return best;
}

}  // namespace

window window_of(const context& c, node_id idx) {
  graph& g = c.g;
  std::vector<node_id> lows, highs;
  arms(g, g.arg(idx, 0), op::maximum, lows);
  arms(g, g.arg(idx, 1), op::minimum, highs);
  window best{idx, no_node, 0};
  for (const node_id low : lows)
    for (const node_id high : highs)
      for (std::int64_t n = 1; n <= most_points && (best.count == 0 || n < best.count); ++n)
        if (proven_less_equal(g, high, make(g, op::add, low, integer(g, n)))) best = {idx, low, n};
  // A short range that does not move is no window, but one of fewer places may move within it; where many move, fewer
  // may stand still.
  const bool moves = best.count != 0 && !g.free[best.base].empty();
  if (best.count > (moves ? few_points : 0) && !is_closed(g, idx))
    if (const window other = places_of_extents(c, idx, lows, highs, best.count);
        other.count != 0 && other.count < best.count)
      return other;
  return best.count != 0 ? best : places_of_extents(c, idx, lows, highs, 0);
}

namespace {

// Subscripts and comparisons in which lanes cancel out.
node_id without_lanes(graph& g, node_id term, node_id lane) {
  replacement put = around_indices(g, term);
  std::vector<node_id> found;
  for_each_node(g, term, [&](node_id n) {
    const bool compares = g.kind(n) == op::less || g.kind(n) == op::less_equal || g.kind(n) == op::equal;
    if (g.kind(n) == op::load || (compares && g.type(g.arg(n, 0)) == element::i64)) found.push_back(n);
  });
  for (const node_id n : found) {
    if (g.kind(n) == op::load) {
      for (int d = 1; d < g[n].count; ++d) {
        const node_id at = g.arg(n, d);
        if (const line l = split_affine(g, at, lane); uses(g, at, lane) && l.affine && l.slope == 0)
          put.add(at, l.rest);
      }
      continue;
    }
    const line a = split_affine(g, g.arg(n, 0), lane), b = split_affine(g, g.arg(n, 1), lane);
    if (uses(g, n, lane) && a.affine && b.affine && a.slope == b.slope)
      put.add(n, make(g, g.kind(n), a.rest, b.rest));
  }
  return put(term);
}

}  // namespace

node_id simplified_term(graph& g, node_id term, std::span<const window> windows, node_id lane) {
  term = without_lanes(g, with_numbers(g, term, windows), lane);
  if (std::ranges::none_of(windows, [](const window& w) { return w.extent != no_node; })) return term;
  replacement proof = around_indices(g, term);
  for (const node_id n : loads_in(g, term))
    if (!is_proven(g, n) && is_true(g, with_numbers(g, inside_condition(g, n), windows))) proof.add(n, proven(g, n));
  return proof(term);
}

}  // namespace sheaf::inline v0_1::plan
