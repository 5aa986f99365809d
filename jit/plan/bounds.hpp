// The bounds of a tensor's dimensions, and what must hold for a load to be inside of them.
#pragma once
#include <sheaf/dsl/graph/affine.hpp>

namespace sheaf::inline v0_1::plan {

// The range that a subscript of the tensor must be in: [low_of, high_of).
node_id low_of(graph& g, node_id tensor, int dimension);
node_id high_of(graph& g, node_id tensor, int dimension);

// What a subscript is at least and at most, with each index it is affine in at an end of its range.
struct ends {
  node_id least, most;
  node_id nonempty;  // every range it walks has an element
};
ends ends_of(graph& g, node_id subscript);
// Indices of the subscript on which it does not depend whether it is inside, as of one that is clamped to no element:
// nothing is read where they have no value.
void ask_for_elements(graph& g, ends& r, node_id inside);

// A conjunction, without what is known of ranges; true for a load that is proven.
node_id inside_condition(graph& g, node_id load);
inline bool is_inside(graph& g, node_id load) { return is_true(g, inside_condition(g, load)); }

}  // namespace sheaf::inline v0_1::plan
