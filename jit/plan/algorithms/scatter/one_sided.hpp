// Rule `one-sided ranges`: sums, for each place, over all that reach it from one side (`j < end(t)`): each is added where
// it ends, and a running sum goes from there. Shown by tests/jit/ordered_keys.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

bool take_one_sided(const context& c, stage& s);

}  // namespace sheaf::inline v0_1::plan
