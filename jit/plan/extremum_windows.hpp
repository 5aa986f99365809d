// Sums over the ties of windows: found by tied.hpp, they become windows of two keys where their elements hold no
// reduction; what does is stored first. Shown by tests/jit/ties.cpp.
#pragma once
#include <sheaf/jit/plan/extremum_terms.hpp>

namespace sheaf::inline v0_1::plan {

// Works on one such sum of the stage: what its elements are made of is stored first, so that each is computed once.
bool take_extremum_window(graph& g, const facts& known, node_id reduce, stage& s, std::vector<stage>& before);

}  // namespace sheaf::inline v0_1::plan
