// Sums of rows that several reductions read, as scores of which a softmax takes the maximum and the sum: each would
// read the rows again. Shown by tests/jit/folded_again.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

// Has a definition a reduction of elements that no other value of it reads, and is what it has at `use` read in several
// reductions over its indices? Stored it is smaller than what it is made of, which each of them would read; those do
// not count that walk it anyway, as the gradient of a loss by its weights.
bool is_folded_again(const graph& g, const facts& known, const std::vector<stage>& stages, node_id use);

}  // namespace sheaf::inline v0_1::plan
