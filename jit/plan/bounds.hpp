// The bounds of a tensor's dimensions, and what must hold for a load to be inside of them.
#pragma once
#include <sheaf/dsl/graph/affine.hpp>

namespace sheaf::inline v0_1::plan {

// The range that a subscript of the tensor must be in: [low_of, high_of).
node_id low_of(graph& g, node_id tensor, int dimension);
node_id high_of(graph& g, node_id tensor, int dimension);

// A conjunction, without what is known of ranges; true for a load that is proven.
node_id inside_condition(graph& g, node_id load);
inline bool is_inside(graph& g, node_id load) { return is_true(g, inside_condition(g, load)); }

}  // namespace sheaf::inline v0_1::plan
