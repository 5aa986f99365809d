#include <sheaf/jit/plan/algorithms/recurrence/running_map.hpp>

#include <sheaf/dsl/graph/monoids.hpp>
#include <sheaf/dsl/passes/running_derivative.hpp>
#include <sheaf/jit/plan/rewrite.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

// As derivative::chain, of integers.
monoid integer_maps(graph& g, element type, bool backward) {
  const auto operand = [&](bool then, int k) {
    return g.intern(op::operand, type, (then != backward ? 2 : 0) + k, nullptr, 0);
  };
  const name_id name = g.name("integer_chain", 13);
  const auto scaled = [&](int k) { return make(g, op::mul, operand(true, 0), operand(false, k)); };
  flat<own_monoid_row> rows;
  rows.push({name, type, integer(g, 1, type), scaled(0), no_node, 0, 2, true});
  rows.push({name, type, integer(g, 0, type), make(g, op::add, operand(true, 1), scaled(1)), no_node, 1, 2, true});
  int first = derivative::place_of(g, rows);
  if (first < 0) {
    first = g.monoids.size();
    for (int k = 0; k < rows.size(); ++k) g.monoids.push(rows[k]);
  }
  return sibling(g, own_kind(first), 1);
}

}  // namespace

node_id running_map(graph& g, node_id walk, bool backward, node_id value, node_id factor) {
  const node_id low = g.arg(walk, 0), high = g.arg(walk, 1), next = make(g, op::add, walk, integer(g, 1));
  const node_id inner = backward ? fresh_index(g, walk, walk, high) : fresh_index(g, walk, low, next);
  replacement put(g, proofs::kept);
  put.add(walk, inner);
  flat<node_id> map;
  map.push(put(factor));
  map.push(put(value));
  const element type = g.type(value);
  const monoid maps = type == element::f64 ? derivative::chain(g, backward) : integer_maps(g, type, backward);
  return intern_reduce(g, maps, type, tuple(g, map), truth(g, true), {inner});
}

}  // namespace sheaf::inline v0_1::plan
