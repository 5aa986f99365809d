// Sums on both sides of a comparison of floating numbers, as ties of an extremum have them: computed in loops of other
// lanes they would be other bits, and nothing would tie. Each is a stage, which both sides read. Shown by
// tests/jit/ties.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

void store_compared(graph& g, std::vector<stage>& stages);

}  // namespace sheaf::inline v0_1::plan
