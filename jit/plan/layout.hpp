// Along which index the values of a stage that is stored lie in lanes.
#pragma once
#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

// The stage as a pattern for storing a value: its last index is the one along which the value is best stored.
stage layout_of(const context& c, node_id value, const stage& s);

}  // namespace sheaf::inline v0_1::plan
