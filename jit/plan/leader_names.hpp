// The indices of a stage under the names that the first stage of a kernel has for them, so that they share its loops.
// Shown by tests/jit/plan.cpp and tests/jit/pair_ranges.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

// The reader's leading index under the writer's name, so that values can be shared.
void rename_parallel(graph& g, stage& s, node_id to);
// Those of a scatter under the names that another over the same ranges has; false: it has none for some.
bool rename_updates(graph& g, const stage& leader, stage& s);
// The rows, places and loops of tiles of pairs, as far as the leader has the same ranges.
void rename_pairs(graph& g, const stage& leader, stage& s);

}  // namespace sheaf::inline v0_1::plan
