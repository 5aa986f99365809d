// Rules: which parts of a stage's body its loops would compute too often. Shown by tests/jit/plan.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

// What the loops of a stage would compute too often becomes a stage.
bool take_misplaced(const context& c, stage& s);
// A reduction over much data to few results is split. See split.hpp.
bool take_split(const context& c, stage& s);

}  // namespace sheaf::inline v0_1::plan
