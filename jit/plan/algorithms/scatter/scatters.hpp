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

// A scatter's value and what else must hold, of an update of row j: what its data says of the row is j.
struct term_of_row {
  node_id value = no_node, rest = no_node;
};
term_of_row in_row(graph& g, const stage& s);

// An index of a scatter's result that the condition equates with data of the bound indices, beside the owned one.
struct fixed_index {
  node_id index = no_node;
  node_id at = no_node;
};
// Takes them out of what else must hold.
std::vector<fixed_index> fixed_of(graph& g, const stage& s, updated_rows& rows);

// Where an update goes: the fixed indices of a scatter's result and the owned one, with their places.
std::vector<fixed_index> places_of(graph& g, const stage& s);

// The indices that decide which rows an update goes to: those of the result have loops outside of the walk.
index_set deciding_of(graph& g, const stage& s);

// Does data say which place of this index an update goes to?
bool is_fixed(graph& g, const stage& s, node_id idx);
// Do the updates of two scatters over the same indices go to the same places?
bool same_places(graph& g, const stage& a, const stage& b);

// Does the condition of a reduction say by data which places its terms go to?
bool is_scatter(graph& g, node_id n);

// A sum whose subscripts are moved inside a tensor, as sums that are no scatters; n itself where it is none.
node_id solved(graph& g, node_id n);

// A scatter that is the whole body stays; one inside becomes a stage.
bool take_scatter(const context& c, stage& s);

}  // namespace sheaf::inline v0_1::plan
