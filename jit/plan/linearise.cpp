#include <sheaf/jit/plan/linearise.hpp>

#include <sheaf/jit/plan/rewrite.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

// What is left of a sum without the quotient of these two; no_node: it has no such term.
node_id without_quotient(graph& g, node_id sum, node_id of, node_id by) {
  if (g.kind(sum) == op::quotient && g.arg(sum, 0) == of && g.arg(sum, 1) == by) return integer(g, 0);
  if (g.kind(sum) != op::add) return no_node;
  for (const int k : {0, 1}) {
    const node_id rest = without_quotient(g, g.arg(sum, k), of, by), other = g.arg(sum, 1 - k);
    if (rest != no_node) return is_number(g, rest, 0) ? other : make(g, op::add, rest, other);
  }
  return no_node;
}

// The load with the number that its last two subscripts are the digits of, and what the row has beside; itself where
// they are not.
node_id linearised(graph& g, const facts& known, node_id load) {
  const int last = g[load].count - 1;
  if (last < 2 || !is_proven(g, load) || !is_dense_input(known, g.arg(load, 0))) return load;
  const node_id row = g.arg(load, last - 1), column = g.arg(load, last);
  if (g.kind(column) != op::remainder || !known_equal(g, g.arg(column, 1), extent(g, g.arg(load, 0), last - 1)))
    return load;
  const node_id rest = without_quotient(g, row, g.arg(column, 0), g.arg(column, 1));
  if (rest == no_node) return load;
  std::vector<node_id> list = arguments(g, load, 0);
  list[static_cast<std::size_t>(last) - 1] = rest;
  list[static_cast<std::size_t>(last)] = g.arg(column, 0);
  const node whole = g[load];
  return g.intern(op::load, whole.type, whole.attribute, list.data(), whole.count);
}

}  // namespace

bool take_linearised(const context& c, stage& s) {
  graph& g = c.g;
  return rewrite_loads(g, s.body, [&](node_id n) { return linearised(g, c.known, n); });
}

}  // namespace sheaf::inline v0_1::plan
