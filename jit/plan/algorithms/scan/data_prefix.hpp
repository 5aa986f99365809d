// Rule `data prefix`: folds from the first element up to where data says, or from there to the last one, of elements
// that all of them share: a running fold has each. Shown by tests/jit/ordered_keys.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

bool take_data_prefix(const context& c, stage& s);

}  // namespace sheaf::inline v0_1::plan
