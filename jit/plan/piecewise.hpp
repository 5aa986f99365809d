// Rule `piecewise subscripts`: a load at a remainder, an absolute value, a minimum or maximum of its place, as of a
// wrapped, reflected or clamped access, is a choice of loads, one for each piece of its subscript. Lanes of a piece lie
// beside each other or are one element, and pass `partition_loops` leaves one piece where no other can be. Shown by
// tests/numeric/access.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

bool take_pieces(const context& c, stage& s);

}  // namespace sheaf::inline v0_1::plan
