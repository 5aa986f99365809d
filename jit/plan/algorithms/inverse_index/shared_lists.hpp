// Step of rule `inverse index`: scatters whose updates go to the same rows, as sums, counts and extrema by one key,
// walk one list. Shown by tests/cuda/shared_lists.cpp.
#pragma once
#include <vector>

#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

// needed: of an update, the indices and loads that the scatter's value depends on; none, where it is the same for all.
struct wanted_list {
  inverse_index_form form;
  std::vector<node_id> needed;
  element type = element::i64;
};

// What a list has of each update: at least one, so that there is an update.
inline std::vector<node_id> planes_for(const std::vector<node_id>& needed, const std::vector<node_id>& walk) {
  return needed.empty() ? std::vector<node_id>{walk.back()} : needed;
}

// Gives the scatter the list of one before it. What that list lacks it has from now on. False: there is none.
bool share_list(const context& c, stage& s, const wanted_list& wanted);

}  // namespace sheaf::inline v0_1::plan
