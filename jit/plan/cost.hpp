// What lanes of an index cost an expression, and how many of them it takes: loads are counted, of unit stride a share
// of a lane, strided ones a whole element each. The weights are fixed, see numerics.hpp: they order additions.
// Shown by tests/jit/plan.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

struct unit_strides {
  const facts& known;
  bool operator()(node_id tensor) const;  // does its last dimension have stride 1?
};

// The loads of an expression as seen by lanes of `lane` (none: scalar), weighted by how often they run; reductions that
// don't depend on it choose their own.
amount cost_of(graph& g, const facts& known, node_id root, node_id lane, const amount& repeats = 1);

// How many loads and operations on floating numbers an expression has.
std::int64_t work_of(const graph& g, node_id n);

// Does a load take an element here and there at lanes of this index, or one after the other along this one?
bool gathers_at(graph& g, const facts& known, node_id load, node_id lane);
bool goes_along(graph& g, const facts& known, node_id load, node_id idx);

// May `lane` run in lanes over this expression? No range inside may depend on it.
bool may_vectorise(const graph& g, node_id root, node_id lane);

// Which of a reduction's indices runs in lanes where nothing outside does; none: no index can.
node_id lane_of(graph& g, const facts& known, node_id reduce);

// A power of two of at least 4 that covers the range where it is short; more lanes than a register has are several
// accumulators. A loop that is not within another one is over soon where it is short, and has the lanes of a long one:
// that of a reduction to one value, or `alone`, of a map.
int lanes_for(const graph& g, const facts& known, node_id root, node_id lane, bool reductions_inside,
              bool alone = false);

// The loops of a reduction, the lane's innermost: along outer dimensions of what it loads first, so that memory is
// walked as it lies. Where the order of its terms is promised, it is that of the indices.
std::vector<node_id> loops_of(const graph& g, node_id reduce, node_id lane);

}  // namespace sheaf::inline v0_1::plan
