// Algorithm `inverse index`: a scatter to many rows by the inverse of its index. A counting sort lists the updates
// by the chunk of rows that they go to, in the order in which they are walked; a task then knows its own without
// asking all of them, and writes each row once. Shown by tests/jit/inverse_index.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

// Puts a stage before a scatter that lists its updates, where tasks would walk many in vain.
bool list_updates(const context& c, stage& s);

// Where the program asks for it: the updates of a sum are added where they belong, in any order.
bool take_atomic(const context& c, stage& s);

// What the condition of a scatter says: row j == at, and what else must hold.
struct update_target {
  node_id at = no_node;
  node_id rest = no_node;
};
update_target target_of(graph& g, const stage& s);

// An index of the result that a conjunct equates with data of the bound indices, beside the owned one; no_node: none.
struct fixed_index {
  node_id index = no_node;
  node_id at = no_node;
};
fixed_index fixed_by(const graph& g, const stage& s, node_id conjunct);
// Do the updates of two scatters over the same indices go to the same places?
bool same_targets(graph& g, const stage& a, const stage& b);

// The bound indices of a scatter, outermost first; on a GPU the longest that may stand there: its iterations are
// shared.
std::vector<node_id> walk_of(const graph& g, const facts& known, const stage& s);

// How many chunks the owned index has.
node_id chunks_of(graph& g, const inverse_index_form& l);

// Divisions and functions in the value of a scatter that have far fewer values than there are updates: stored before.
bool take_repeated(const context& c, stage& s);

}  // namespace sheaf::inline v0_1::plan
