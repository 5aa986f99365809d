// A recurrence as a running fold of maps h -> value + factor * h, or what ties with a running extremum as one of pairs:
// lanes and blocks may share both. Shown by tests/cuda/states.cpp.
#pragma once
#include <sheaf/dsl/graph/graph.hpp>
#include <sheaf/jit/plan/algorithms/extremum/extremum_ties.hpp>

namespace sheaf::inline v0_1::plan {

// Of the places of `walk` up to walk itself, or backward from it on; value and factor are of one type, f64 or integers.
node_id running_map(graph& g, node_id walk, bool backward, node_id value, node_id factor);
// The sum of `value` where `key` is the extremum of the same places, or, where these are others than what the sum asks
// for, of those that are not NaN; with NaN nothing ties.
node_id running_ties(graph& g, node_id walk, bool backward, const extremum_ties& ties, node_id key, node_id value);

}  // namespace sheaf::inline v0_1::plan
