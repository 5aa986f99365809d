// Rules: which parts of a stage's body its loops would compute too often, or in another order than who compares with
// them. Shown by tests/jit/plan.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

// What the loops of a stage would compute too often becomes a stage.
bool take_misplaced(graph& g, const facts& known, stage& s, std::vector<stage>& before);
// Ties ask whether a value is the maximum of such values: one with a reduction in it must not be computed anew in
// another order or with other lanes, so it is stored once.
bool take_ties(graph& g, stage& s, std::vector<stage>& before);
// A reduction over much data to few results is split. See split.hpp.
bool take_split(graph& g, const facts& known, stage& s, std::vector<stage>& before);

}  // namespace sheaf::inline v0_1::plan
