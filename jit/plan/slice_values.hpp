// Definitions that are 0 but in slices whose ends data names, as the gradient of the scores of a node's edges: they are
// computed where they are read. Stored, they would have a value for each place that is in no slice of a row, and what
// reads them would walk all of these. Shown by tests/jit/slice_values.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

// Is it 0 but in a slice of one of its indices, of which data names both ends?
bool is_of_slices(graph& g, node_id define);

// Its value with what each slice folds of itself as a stage.
node_id with_folds_stored(graph& g, std::vector<stage>& stages, node_id of);

// Sums whose terms are 0 but in slices walk the slices.
void walk_slices(graph& g, stage& s);

}  // namespace sheaf::inline v0_1::plan
