// Rule: sums of products of small integers are made in 32 bits where no sum can leave them, and those of matrices in
// floating numbers, if these are exact. Lanes then hold twice as many, or a product has tiles; results are the same.
// Shown by tests/jit/narrow_integers.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

// In place of the reduction n; no_node: it stays.
node_id take_narrow_integers(const context& c, node_id n, const stage& s);

}  // namespace sheaf::inline v0_1::plan
