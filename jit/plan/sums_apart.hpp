// Sums of a GPU's folds of much data as multiples of sums that need no other fold:
//   sum(i, a g(i) + b (x(i) - m))  is  a sum(i, g(i)) + b sum(i, x(i) - m),
// where a and b are what other sums over the same data came to. These are then folded in the walk of others, where the
// whole would wait for them and walk the data again. Differences from a centre stay as they are, and no sum is taken
// apart but at those: of terms that cancel each other nothing is lost.
#pragma once
#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

// no_node: it is no such sum.
node_id sums_apart(const context& c, node_id n);

}  // namespace sheaf::inline v0_1::plan
