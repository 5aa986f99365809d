// Rule `one-sided ranges`: folds, for each place, of all terms that reach it from one side (`j < end(t)`). Each is
// added where it ends, and a running fold goes from there. Shown by tests/jit/ordered_keys.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

bool take_one_sided(const context& c, stage& s);

}  // namespace sheaf::inline v0_1::plan
