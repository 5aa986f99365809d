// Pass `partition_loops`: a vector loop whose lanes are compared with places that do not change in it, as accesses that
// are padded, clamped, wrapped or reflected do, becomes three: up to the whole vectors in which every comparison comes
// out as in the middle of the range, these, and the rest. In the middle nothing is compared, and a gather at the
// smaller of two places loads neighbours. Vectors begin where they did, so each lane keeps its terms and their order.
// Shown by tests/jit/partition_loops.cpp.
#pragma once
#include <functional>

#include <sheaf/jit/ir/ir.hpp>

namespace sheaf::inline v0_1::ir {

// typical: what an extent is taken to be where the middle of a range is sought; any number is right.
void partition_loops(module& m, const std::function<std::int64_t(const buffer&, int dimension)>& typical);

}  // namespace sheaf::inline v0_1::ir
