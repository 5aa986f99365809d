#include <sheaf/jit/plan/algorithms/recurrence/running_map.hpp>

#include <sheaf/dsl/graph/monoids.hpp>
#include <sheaf/dsl/passes/running_derivative.hpp>
#include <sheaf/jit/numerics/numerics.hpp>
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

// Component k of the fold of pairs at the places up to walk, or backward from it on.
node_id running(graph& g, node_id walk, bool backward, monoid pairs, int k, node_id first, node_id second) {
  const node_id low = g.arg(walk, 0), high = g.arg(walk, 1), next = make(g, op::add, walk, integer(g, 1));
  const node_id inner = backward ? fresh_index(g, walk, walk, high) : fresh_index(g, walk, low, next);
  replacement put(g, proofs::kept);
  put.add(walk, inner);
  flat<node_id> pair;
  pair.push(put(first));
  pair.push(put(second));
  return intern_value(g, pairs, k, tuple(g, pair), truth(g, true), {inner});
}

}  // namespace

node_id running_map(graph& g, node_id walk, bool backward, node_id value, node_id factor) {
  const element type = g.type(value);
  const monoid maps = type == element::f64 ? derivative::chain(g, backward) : integer_maps(g, type, backward);
  return running(g, walk, backward, sibling(g, maps, 0), 1, factor, value);
}

node_id running_ties(graph& g, node_id walk, bool backward, const extremum_ties& ties, node_id key, node_id value) {
  key = as_compared(g, key);
  value = cast_to(g, numerics::recurred(g.type(value)), value);
  if (is_floating(g.type(key))) {
    const node_id counts = make(g, op::equal, key, key);
    value = make(g, op::select, counts, value, number_like(g, value, 0));
    if (!ties.own) key = make(g, op::select, counts, key, identity_of(g, ties.extremum, g.type(key)));
  }
  const monoid pairs = extremum_with(g, ties.extremum, g.type(key), monoid::sum, g.type(value));
  return running(g, walk, backward, pairs, 1, key, value);
}

}  // namespace sheaf::inline v0_1::plan
