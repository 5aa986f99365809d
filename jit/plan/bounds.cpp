#include <sheaf/jit/plan/bounds.hpp>

namespace sheaf::inline v0_1::plan {

node_id low_of(graph& g, node_id tensor, int d) {
  return g.kind(tensor) == op::define ? g.arg(g.arg(tensor, 1 + d), 0) : integer(g, 0);
}
node_id high_of(graph& g, node_id tensor, int d) {
  return g.kind(tensor) == op::define ? g.arg(g.arg(tensor, 1 + d), 1) : extent(g, tensor, d);
}

namespace {

// An index whose range ends at `high`, if not before, is below it whatever that is.
bool ends_at(const graph& g, node_id e, node_id high) {
  if (g.kind(e) != op::index) return false;
  node_id end = g.arg(e, 1);
  for (; g.kind(end) == op::minimum; end = g.arg(end, 1))
    if (g.arg(end, 0) == high) return true;
  return end == high;
}

}  // namespace

node_id inside_condition(graph& g, node_id n) {
  node_id inside = truth(g, true);
  if (is_proven(g, n)) return inside;
  for (int d = 0; d + 1 < g[n].count; ++d) {
    const node_id tensor = g.arg(n, 0), low = low_of(g, tensor, d), high = high_of(g, tensor, d), e = g.arg(n, 1 + d);
    inside = conjunction(g, inside, ends_at(g, e, high) ? at_most(g, low, e) : range_condition(g, e, low, high));
  }
  return inside;
}

}  // namespace sheaf::inline v0_1::plan
