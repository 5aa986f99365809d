#include <sheaf/jit/plan/joined_rows.hpp>

#include <algorithm>

#include <sheaf/jit/plan/cost.hpp>
#include <sheaf/jit/plan/partial_results.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/rows.hpp>
#include <sheaf/jit/plan/stages.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

node_id trips_of(graph& g, node_id idx) {
  const node_id low = g.arg(idx, 0), high = g.arg(idx, 1);
  if (is_number(g, low, 0) && g.kind(high) == op::extent) return high;
  return make(g, op::maximum, make(g, op::sub, high, low), integer(g, 0));
}

// Over 0 to the product of the ranges, of which the last index is the last digit.
node_id with_one_index(graph& g, node_id n) {
  const std::vector<node_id> bound = bound_indices(g, n);
  node_id all = trips_of(g, bound.front());
  for (std::size_t k = 1; k < bound.size(); ++k) all = make(g, op::mul, all, trips_of(g, bound[k]));
  const node_id number = unused_index(g, bound.back(), integer(g, 0), all, indices_in(g, n));
  replacement put(g, proofs::kept);
  node_id rest = number;
  for (std::size_t k = bound.size(); k-- > 0;) {
    const node_id trips = trips_of(g, bound[k]);
    const node_id digit = k == 0 ? rest : make(g, op::remainder, rest, trips);
    const node_id low = g.arg(bound[k], 0);
    put.add(bound[k], is_number(g, low, 0) ? digit : make(g, op::add, low, digit));
    if (k > 0) rest = make(g, op::quotient, rest, trips);
  }
  return intern_reduce(g, monoid_of(g, n), g.type(n), put(g.arg(n, 0)), put(g.arg(n, 1)), {number});
}

bool may_be_joined(const graph& g, node_id n) {
  const std::vector<node_id> bound = bound_indices(g, n);
  const monoid fold = monoid_of(g, n);
  if (bound.size() < 2 || row(fold).position || is_own(fold) || is_folded_in_order(g, n)) return false;
  return std::ranges::all_of(bound, [&](node_id idx) { return is_closed(g, idx); });
}

}  // namespace

bool take_joined_rows(const context& c, stage& s) {
  graph& g = c.g;
  if (s.how != way::map || c.known.for_groups() || s.vector == no_node || s.loops.size() != 1) return false;
  for (const node_id n : reductions_in(g, s.body)) {
    if (!may_be_joined(g, n)) continue;
    const node_id joined = with_one_index(g, n);
    if (!walks_wide_rows(g, c.known, joined, g.arg(joined, 0), s) || !is_long(c, n)) continue;
    replace_in(g, s, n, joined);
    return true;
  }
  return false;
}

}  // namespace sheaf::inline v0_1::plan
