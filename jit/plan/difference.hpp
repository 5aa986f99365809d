// What two numbers differ by, term by term: of what both have alike nothing is left.
// Shown by tests/jit/near_scatter.cpp.
#pragma once
#include <sheaf/dsl/graph/linear.hpp>

namespace sheaf::inline v0_1::plan {

// a - b; no_node where a number of it leaves i64.
inline node_id difference(graph& g, node_id a, node_id b) {
  linear sum;
  collect(g, a, 1, sum);
  collect(g, b, -1, sum);
  if (sum.wrapped) return no_node;
  node_id rest = integer(g, sum.constant);
  for (const linear::term& each : sum.terms)
    if (each.factor != 0) rest = make(g, op::add, rest, make(g, op::mul, each.node, integer(g, each.factor)));
  return rest;
}

}  // namespace sheaf::inline v0_1::plan
