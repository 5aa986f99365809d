// Positions of running extrema: argmax over s of [0, t + 1), also from t on, and cut. The extremum is a scan, and so is
// the position: it is where the extremum was met last, or, of equals the first in the order of the scan, where it
// changed last.
// Input: an argmax or argmin whose range grows or shrinks with an index outside. Output: a lookup in the second scan.
// Shown by tests/jit/running_position.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

bool take_running_position(const context& c, stage& s);

}  // namespace sheaf::inline v0_1::plan
