// The order of a nest's loops, before tasks share one of them. Shown by tests/jit/convolutions.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>
#include <sheaf/jit/plan/shape_facts.hpp>

namespace sheaf::inline v0_1::plan {

// Of sums of products: loops over which the rows that most is read of stay the same are within the others, where what
// else is read stays in L2. So these rows come to L1 once, not once for each iteration of such a loop.
void order_by_rows(const facts& known, stage& s);

}  // namespace sheaf::inline v0_1::plan
