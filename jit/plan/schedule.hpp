// Pass `schedule`: the loop order of a stage and the index that runs in lanes.
// Either the stage's own index does (reductions inside are then serial, lane by lane), or none, and each reduction and
// map runs its innermost loop in lanes and folds them. Decided by counting loads: unit-stride ones cost a share of a
// lane, strided ones a whole element each.
// Input: a stage with body and indices. Output: its loops, vector, lanes, predictions, reasons. Shown by
// tests/jit/plan.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

void schedule(graph& g, const facts& known, stage& s);

}  // namespace sheaf::inline v0_1::plan
