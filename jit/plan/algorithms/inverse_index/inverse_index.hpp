// Algorithm `inverse index`: a scatter to many rows by the inverse of its index. A counting sort lists the updates
// by the chunk of rows that they go to, in the order in which they are walked; a task then knows its own without
// asking all of them, and writes each row once. Shown by tests/jit/inverse_index.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

// Puts a stage before a scatter that lists its updates, where tasks would walk many in vain.
bool list_updates(const context& c, stage& s);

// The inverse index of a place of `owned` for each place of the index `walk`, by row: a stage of its own, or one that
// is there already.
inverse_index_form listed_by_row(const context& c, const stage& s, node_id walk, node_id owned, node_id at);
// The stage that makes the index, with room for a place of each update in so many planes.
stage stage_of_list(graph& g, const inverse_index_form& l, node_id walked, std::int64_t planes_of, element type);
// Made by all threads of a GPU: a row is a chunk then. False: it can't be, and nothing was done.
bool sort_list_on_device(const context& c, stage& lists, inverse_index_form& l);

// needed: of an update, the indices and loads that the scatter's value depends on; none, where it is the same for all.
struct wanted_list {
  inverse_index_form form;
  std::vector<node_id> needed;
  element type = element::i64;
};
// What a list has of each update: at least one index, so that there is an update.
inline std::vector<node_id> planes_for(const std::vector<node_id>& needed, const std::vector<node_id>& walk) {
  return needed.empty() ? std::vector<node_id>{walk.back()} : needed;
}
// Gives the scatter the list of one before it whose updates go to the same rows. What that list lacks it has from now
// on. False: there is none.
bool share_list(const context& c, stage& s, const wanted_list& wanted);

// Of the n-th update by row, the index of a plane; in n.
node_id listed_place(graph& g, const inverse_index_form& l, node_id n, int plane = 0);

// The same as what the scatter's value has of it, in that one's type.
node_id listed_value(graph& g, const inverse_index_form& l, node_id n, int plane);

// Gives a scatter with a list parts of rows, where a row may have many updates.
void fold_parts_of_rows(const context& c, stage& s);
// Of a scatter that has them, whose list is another one now: what lanes read of it.
void read_parts_anew(const context& c, stage& s);

// A map whose rows read tables that data chooses goes in the order of that data, so that rows which share one follow
// each other.
bool take_row_order(const context& c, stage& s);

// Where the program asks for it: the updates of a sum are added where they belong, in any order.
bool take_atomic(const context& c, stage& s);

// The bound indices of a scatter, outermost first; on a GPU the longest that may stand there: its iterations are
// shared.
std::vector<node_id> walk_of(const graph& g, const facts& known, const stage& s);

// How many chunks the owned index has.
node_id chunks_of(graph& g, const inverse_index_form& l);

// Divisions and functions in the value of a scatter that have far fewer values than there are updates: stored before.
bool take_repeated(const context& c, stage& s);

}  // namespace sheaf::inline v0_1::plan
