#include <sheaf/jit/plan/collapsed_rows.hpp>

#include <algorithm>

#include <sheaf/jit/plan/cost.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/rows.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

node_id count_of(graph& g, node_id idx) {
  const node_id low = g.arg(idx, 0), high = g.arg(idx, 1);
  if (is_number(g, low, 0) && g.kind(high) == op::extent) return high;
  return make(g, op::maximum, make(g, op::sub, high, low), integer(g, 0));
}

// Over 0 to the product of the ranges, of which the innermost index is the last digit.
node_id with_one_index(graph& g, node_id n) {
  const std::vector<node_id> loops = loops_of(g, n, no_node);
  node_id all = count_of(g, loops.front());
  for (std::size_t k = 1; k < loops.size(); ++k) all = make(g, op::mul, all, count_of(g, loops[k]));
  const node_id number = unused_index(g, loops.back(), integer(g, 0), all, indices_in(g, n));
  replacement put(g, proofs::kept);
  node_id rest = number;
  for (std::size_t k = loops.size(); k-- > 0;) {
    const node_id count = count_of(g, loops[k]), low = g.arg(loops[k], 0);
    const node_id digit = k == 0 ? rest : make(g, op::remainder, rest, count);
    put.add(loops[k], is_number(g, low, 0) ? digit : make(g, op::add, low, digit));
    if (k > 0) rest = make(g, op::quotient, rest, count);
  }
  return intern_reduce(g, monoid_of(g, n), g.type(n), put(g.arg(n, 0)), put(g.arg(n, 1)), {number});
}

bool may_be_collapsed(const graph& g, node_id n) {
  const std::vector<node_id> bound = bound_indices(g, n);
  const monoid fold = monoid_of(g, n);
  if (bound.size() < 2 || row(fold).position || is_own(fold) || is_folded_in_order(g, n)) return false;
  return std::ranges::all_of(bound, [&](node_id idx) { return is_closed(g, idx); });
}

}  // namespace

node_id with_collapsed_rows(const context& c, node_id n, const stage& s) {
  if (s.loops.size() != 1 || !may_be_collapsed(c.g, n)) return n;
  return walks_wide_rows(c.g, c.known, n, c.g.arg(n, 0), s) ? with_one_index(c.g, n) : n;
}

}  // namespace sheaf::inline v0_1::plan
