// Sums over the ties of windows: they become windows of two keys where their elements hold no
// reduction; what does is stored first. Shown by tests/jit/ties.cpp.
#pragma once
#include <sheaf/jit/plan/rule.hpp>

namespace sheaf::inline v0_1::plan {

// Works on one such sum of the stage: what its elements are made of is stored first, so that each is computed once.
bool extremum_with_sum_in_one_pass(context& c, stage& s, site& at);

}  // namespace sheaf::inline v0_1::plan
