// Rule: which reductions are scatters, for their condition fixes one of their results' indices by data, or bounds it by
// data. Shown by tests/jit/plan.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

// A scatter that is the whole body stays; one inside becomes a stage.
bool take_scatter(const context& c, stage& s);

}  // namespace sheaf::inline v0_1::plan
