// Values of a pair of two indices, of which there are more than of anything that they are made of.
#pragma once
#include <vector>

#include <sheaf/jit/plan/plan.hpp>
#include <sheaf/jit/plan/shape_facts.hpp>

namespace sheaf::inline v0_1::plan {

// What is kept of each tile joins by the monoid's own operation, in the type of the result.
bool joins_tiles(const graph& g, node_id reduce);
// The position of an extremum, of values that are kept as they are.
bool joins_positions(const graph& g, node_id reduce);
bool is_of_pair(const graph& g, node_id n, node_id rows, node_id walk);
bool may_have_tiles(const call_facts& call);
// Do so many rows and places, and all pairs of them, pay for tiles?
bool are_many(const facts& known, node_id rows, node_id walk, const index_set& pairs);
// Is it a sum for each pair of two indices, of what depends on one of them each, and may both walk the other's places
// in tiles?
bool may_fold_pairs(const graph& g, const facts& known, node_id reduce);

}  // namespace sheaf::inline v0_1::plan
