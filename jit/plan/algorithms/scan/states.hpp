// Scans of a GPU whose state is several values, or is folded in order. Shown by tests/cuda/states.cpp.
#pragma once
#include <vector>

#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

// Does such a state have lanes along its scan, over the last index?
bool runs_in_lanes_of_group(const context& c, const stage& s);
// A fold that knows an order has no lanes but those of a scan: what a block comes to is its last result.
void make_ends(stage& made, const scan_form& of, monoid fold, node_id block);
// Which values of what comes before a block its results depend on.
std::vector<bool> needed_of_carry(graph& g, const scan_form& f, int values);

// A value of a state that is an extremum of itself alone is scanned as that.
monoid folded_alone(graph& g, monoid own, int width);

}  // namespace sheaf::inline v0_1::plan
