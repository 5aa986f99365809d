// Rule `runs`: folds from where data says up to the place of the result, as of a running sum in each group. Where they
// begin anew at some places and go on at all others, which a call asks once, each is made of the one before. Shown by
// tests/jit/ordered_keys.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

bool take_runs(const context& c, stage& s);

}  // namespace sheaf::inline v0_1::plan
