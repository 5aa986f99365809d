// Pass `schedule`: the loop order of a stage and the index that runs in lanes.
// Either the stage's own index does (reductions inside are then serial, lane by lane), or none, and each reduction and
// map runs its innermost loop in lanes and folds them. Decided by counting loads: unit-stride ones cost a share of a
// lane, strided ones a whole element each.
// Input: a stage with body and indices. Output: its loops, vector, lanes, predictions, reasons. Shown by
// tests/jit/plan.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

struct unit_strides {
  const facts& known;
  bool operator()(node_id tensor) const;  // does its last dimension have stride 1?
};

void schedule(graph& g, const facts& known, stage& s);

// The loads of an expression as seen by lanes of `lane` (none: scalar), weighted by how often they run; reductions that
// don't depend on it choose their own.
double cost_of(graph& g, const facts& known, node_id root, node_id lane, double repeats);

// May `lane` run in lanes over this expression? No range inside may depend on it.
bool may_vectorise(const graph& g, node_id root, node_id lane);

// Which of a reduction's indices runs in lanes where nothing outside does; none: no index can.
node_id lane_of(graph& g, const facts& known, node_id reduce);

// A power of two of at least 4 that covers the range where it is short; more lanes than a register has are several
// accumulators.
int lanes_for(const graph& g, const facts& known, node_id root, node_id lane, bool reductions_inside);

}  // namespace sheaf::inline v0_1::plan
