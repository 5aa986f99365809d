#include <sheaf/jit/plan/exponentials.hpp>

#include <algorithm>
#include <limits>

#include <sheaf/dsl/passes/powers.hpp>
#include <sheaf/jit/plan/rewrite.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

// sum(lane, exp(value - top)).
struct sum_of_terms {
  node_id sum = no_node, lane = no_node, value = no_node, top = no_node;
};

sum_of_terms terms_of(const graph& g, node_id n) {
  if (g.kind(n) != op::reduce || g[n].count != 3 || monoid_of(g, n) != monoid::sum || !is_true(g, g.arg(n, 1)))
    return {};
  const node_id lane = g.arg(n, 2);
  const power term = power_of(g, g.arg(n, 0));
  if (term.value == no_node || g.type(n) != g.type(g.arg(n, 0)) || uses(g, term.centre, lane)) return {};
  return {n, lane, term.value, term.centre};
}

// Is top the largest of the values, or 0 where that is infinite? Then no term is above 1, and their sum is 1 at least,
// or infinite.
bool is_largest(graph& g, const sum_of_terms& t) {
  const node_id largest = maximum_of_centre(g, t.top, [&](node_id a, node_id b) { return is_same(g, a, b); });
  if (g.kind(largest) != op::reduce || g[largest].count != 3 || monoid_of(g, largest) != monoid::max ||
      !is_true(g, g.arg(largest, 1)) || !same_range(g, g.arg(largest, 2), t.lane))
    return false;
  return is_same(g, with(g, g.arg(largest, 0), g.arg(largest, 2), t.lane, proofs::kept), t.value);
}

// The sum whose logarithm, with its top, n is the exponential under: exp(a - (log(sum) + top)).
sum_of_terms normaliser_of(graph& g, node_id n) {
  const node_id total = power_of(g, n).centre;
  if (total == no_node || g.kind(total) != op::add) return {};
  for (int k = 0; k < 2; ++k) {
    if (g.kind(g.arg(total, k)) != op::log) continue;
    const sum_of_terms found = terms_of(g, g.arg(g.arg(total, k), 0));
    if (found.sum != no_node && is_same(g, found.top, g.arg(total, 1 - k)) && is_largest(g, found)) return found;
  }
  return {};
}

node_id replaced(graph& g, node_id n, const std::vector<node_id>& lanes) {
  const sum_of_terms terms = normaliser_of(g, n);
  if (terms.sum == no_node || std::ranges::find(lanes, terms.lane) == lanes.end()) return no_node;
  const node_id a = power_of(g, n).value;
  for (const node_id lane : lanes) {
    if (!is_same(g, with(g, terms.value, terms.lane, lane, proofs::kept), a)) continue;
    const node_id zero = number(g, g.type(n), 0), once = make(g, op::div, number(g, g.type(n), 1), terms.sum);
    const node_id share = make(g, op::mul, make(g, op::exp, make(g, op::sub, a, terms.top)), once);
    // Beside an infinite value every other one is nothing, however large, and that one has no share that is a number.
    const node_id infinite =
        make(g, op::equal, terms.sum, number(g, g.type(n), std::numeric_limits<double>::infinity()));
    return make(g, op::select, infinite, make(g, op::mul, make(g, op::maximum, a, zero), zero), share);
  }
  return no_node;
}

}  // namespace

node_id by_terms_of_sums(graph& g, node_id e, const std::vector<node_id>& lanes) {
  std::vector<node_id> candidates;
  for_each_node(g, e, [&](node_id n) {
    if (g.kind(n) == op::exp) candidates.push_back(n);
  });
  replacement put(g, proofs::kept);
  bool some = false;
  for (const node_id n : candidates)
    if (const node_id instead = replaced(g, n, lanes); instead != no_node) put.add(n, instead), some = true;
  if (!some) return e;
  return put(e);
}

}  // namespace sheaf::inline v0_1::plan
