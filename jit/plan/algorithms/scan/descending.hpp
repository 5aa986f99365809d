// Rule: folds that count down from the end of an axis to a place of it, as s.in(n - 1, t - 1, -1), count up from the
// place, so that they are seen to run. Shown by tests/jit/descending.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

// The fold in the other direction; itself where it is another one.
node_id ascending(graph& g, node_id fold);

}  // namespace sheaf::inline v0_1::plan
