#include <sheaf/jit/plan/algorithms/scan/descending.hpp>

#include <algorithm>

#include <sheaf/dsl/graph/affine.hpp>
#include <sheaf/jit/plan/rewrite.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

// How many places a range from 0 has, which is empty below 0: steps of -1 are counted by a quotient.
node_id count_of(graph& g, node_id high) {
  if (g.kind(high) == op::maximum)
    for (int k = 0; k < 2; ++k)
      if (is_number(g, g.arg(high, k), 0)) return count_of(g, g.arg(high, 1 - k));
  if (g.kind(high) != op::neg || g.kind(g.arg(high, 0)) != op::quotient) return high;
  const node_id steps = g.arg(high, 0);
  return is_number(g, g.arg(steps, 1), -1) ? g.arg(steps, 0) : high;
}

// The monoid that combines in the other order; of one that has its own adjoint, none.
bool exchange_states(graph& g, monoid& kind) {
  if (!in_order(g, kind)) return true;
  const own_monoid_row first = own_row_of(g, kind);
  std::vector<own_monoid_row> rows;
  for (int k = 0; k < first.width; ++k) rows.push_back(own_row_of(g, sibling(g, kind, k)));
  std::vector<node_id> exchanged;
  for (int k = 0; k < 2 * first.width; ++k) {
    const int other = k < first.width ? k + first.width : k - first.width;
    exchanged.push_back(g.intern(op::operand, rows[static_cast<std::size_t>(k % first.width)].type, other, nullptr, 0));
  }
  for (own_monoid_row& r : rows) {
    if (r.adjoint != no_node) return false;
    r.combine = applied(g, r.combine, exchanged.data());
  }
  const auto same = [&](int at, std::size_t k) {
    const own_monoid_row& r = g.monoids[at + static_cast<int>(k)];
    return r.combine == rows[k].combine && r.identity == rows[k].identity && r.component == static_cast<int>(k);
  };
  const int width = first.width;
  int at = 0;
  for (; at + width <= g.monoids.size(); ++at) {
    bool found = g.monoids[at].width == width && g.monoids[at].in_order;
    for (std::size_t k = 0; found && k < rows.size(); ++k) found = same(at, k);
    if (found) break;
  }
  if (at + width > g.monoids.size()) {
    at = g.monoids.size();
    for (const own_monoid_row& r : rows) g.monoids.push(r);
  }
  kind = own_kind(at + first.component);
  return true;
}

// Where idx has slope 1 in a subscript, as idx + rest.
void simplify_subscripts(graph& g, replacement& put, node_id e, node_id idx) {
  for_each_node(g, e, [&](node_id n) {
    for (int k = 1; g.kind(n) == op::load && k < g[n].count; ++k) {
      const node_id subscript = g.arg(n, k);
      if (!uses(g, subscript, idx)) continue;
      const line l = split_affine(g, subscript, idx);
      if (l.affine && l.slope == 1) put.add(subscript, make(g, op::add, idx, l.rest));
    }
  });
}

}  // namespace

node_id ascending(graph& g, node_id fold) {
  monoid kind = monoid_of(g, fold);
  const std::vector<node_id> bound = bound_indices(g, fold);
  const bool marked = g[fold].attribute != static_cast<std::int64_t>(kind);
  if (bound.size() != 1 || marked || row(kind).position || !is_number(g, g.arg(bound[0], 0), 0)) return fold;
  const node_id idx = bound[0], count = count_of(g, g.arg(idx, 1));
  const std::vector<node_id> around = indices_of(g, g.free[count]);
  if (around.size() != 1) return fold;
  const line l = split_affine(g, count, around[0]);
  if (!l.affine || l.slope != -1 || !exchange_states(g, kind)) return fold;
  const node_id place = fresh_index(g, idx, around[0], l.rest);
  replacement put(g, proofs::kept);
  put.add(idx, make(g, op::sub, make(g, op::sub, l.rest, integer(g, 1)), place));
  const node_id body = put(g.arg(fold, 0)), condition = put(g.arg(fold, 1));
  replacement simple(g, proofs::kept);
  simplify_subscripts(g, simple, body, place);
  simplify_subscripts(g, simple, condition, place);
  return intern_reduce(g, kind, g.type(fold), simple(body), simple(condition), {place});
}

}  // namespace sheaf::inline v0_1::plan
