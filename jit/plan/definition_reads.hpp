// How the stages read a definition: at places of data, in windows, in slices. From that follows whether it is stored or
// computed where it is read (stages.cpp). Shown by tests/jit/slice_values.cpp and tests/jit/placement.cpp.
#pragma once
#include <vector>

#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

// At a place that data names a reduction would be computed for each read.
bool read_by_data(const graph& g, const std::vector<node_id>& uses);

// In a window, or at places of any two indices: each value is read for several. Of a bound index both of whose ends
// move with others, values are as few as its places all over.
bool read_by_windows(const graph& g, const facts& known, node_id define, const std::vector<node_id>& uses);

// At a digit of an index, more often than there are values.
bool read_at_digits(const graph& g, const facts& known, node_id define, const std::vector<node_id>& uses);

// Only for pairs of a slice and a place in it: stored, it would have a value for each place and each slice, of which
// those that are read are a small part. Not where it would be computed more often than once for each of these, or where
// only its own check would find that a place is outside.
bool read_in_slices(graph& g, const std::vector<stage>& stages, node_id define, const std::vector<node_id>& uses);

}  // namespace sheaf::inline v0_1::plan
