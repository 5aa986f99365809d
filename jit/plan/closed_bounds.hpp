// What an integer expression is at least and at most, whatever its indices and data. Shown by tests/numeric/errors.cpp
// and tests/jit/plan.cpp.
#pragma once
#include <sheaf/dsl/graph/graph.hpp>

namespace sheaf::inline v0_1::plan {

// Of extents, constants and reductions of no index; no_node: nothing that is known.
struct closed_bounds {
  node_id least = no_node, most = no_node;
};
closed_bounds closed_bounds_of(graph& g, node_id e);

}  // namespace sheaf::inline v0_1::plan
