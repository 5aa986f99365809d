// A scatter whose updates name several indices of the result by data, as a histogram of two dimensions or the gradient
// of what is sampled between pixels. A GPU sorts updates by one number of a row: the indices as digits of it, outermost
// first, and those of a few batches that data is of before them. Shown by tests/cuda/joint_rows.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

// Stores n as a scatter to such rows, and returns what reads them; n itself where it is none.
node_id joint_rows(const context& c, const stage& s, node_id n);

}  // namespace sheaf::inline v0_1::plan
