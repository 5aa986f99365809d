// The indices of a stage under the names that the first stage of a kernel has for them, so that they share its loops.
// Shown by tests/jit/plan.cpp and tests/jit/pair_ranges.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

// The reader's leading index under the writer's name, so that values can be shared.
void rename_parallel(graph& g, stage& s, node_id to);
// Those of a scatter under the names that another over the same ranges has; false: it has none for some.
bool rename_updates(graph& g, const stage& leader, stage& s);
// Does `reader` read of `writer` only at the index `idx` itself?
bool reads_only_at(const graph& g, const stage& reader, const stage& writer, node_id idx);
// Running folds over the same places, none of which reads another, for a GPU: one walk makes all. Each result stands
// where its last value was taken, and all begin or go on at the same places.
bool share_walk(graph& g, const program_plan& plan, const kernel_plan& k, stage& s);
// Windows, or partial results, over the same loops, to the last, that read of each other what is at their own place:
// all of their nest is shared. The loops of s then have the leader's names.
bool share_nest(graph& g, const program_plan& plan, const kernel_plan& k, stage& s);
// The rows, places and loops of tiles of pairs, as far as the leader has the same ranges.
void rename_pairs(graph& g, const stage& leader, stage& s);

}  // namespace sheaf::inline v0_1::plan
