// Step of rule `inverse index`, for a GPU: a list of the rows of slices walks the rows. Shown by
// tests/cuda/inverse_index.cpp (updates_of_bags).
#pragma once
#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

// Of a list's form: changes its walk, where its room comes from and what it has of each update, and puts the stage of
// each row's slice before it.
bool flatten_walk(const context& c, inverse_index_form& l);

}  // namespace sheaf::inline v0_1::plan
