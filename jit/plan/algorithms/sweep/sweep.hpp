// Pass `sweep`: many overlapping slices of wide rows, folded or scattered in one pass down the rows, see `sweep_form`.
// Whether that pays is known when the bounds are: the stage itself takes its slices row by row where it does not.
// Shown by tests/jit/ragged.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

// For a map stage that holds one reduction whose range is data, or a range scatter of values that do not depend
// on the row: puts a stage before it that stores the same if slices overlap enough, with what that one needs.
bool take_sweep(const context& c, stage& s);

}  // namespace sheaf::inline v0_1::plan
