// Rule: which reductions are scatters, for their condition fixes one of their results' indices by data, or bounds it by
// data. Shown by tests/jit/plan.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

// What the condition of a scatter says of the owned index j: which rows an iteration updates, and what else must hold.
struct updated_rows {
  node_id at = no_node;                   // scatter: j == at
  node_id low = no_node, high = no_node;  // range scatter: low <= j < high
  node_id rest = no_node;
};
updated_rows rows_of(graph& g, const stage& s);

// A scatter that is the whole body stays; one inside becomes a stage.
bool take_scatter(const context& c, stage& s);

}  // namespace sheaf::inline v0_1::plan
