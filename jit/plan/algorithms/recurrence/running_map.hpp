// A recurrence as a running fold of maps h -> value + factor * h, which lanes and blocks may share. Shown by
// tests/cuda/states.cpp.
#pragma once
#include <sheaf/dsl/graph/graph.hpp>

namespace sheaf::inline v0_1::plan {

// Of the places of `walk` up to walk itself, or backward from it on; value and factor are of one type, f64 or integers.
node_id running_map(graph& g, node_id walk, bool backward, node_id value, node_id factor);

}  // namespace sheaf::inline v0_1::plan
