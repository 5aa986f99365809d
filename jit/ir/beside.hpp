// Two kernels as one, whose pieces take turns. Shown by tests/jit/beside.cpp.
#pragma once
#include <optional>

#include <sheaf/jit/ir/ir.hpp>

namespace sheaf::inline v0_1::ir {

// Each ends in a parallel loop, and neither stores what the other touches. The loops are cut into `turns` ranges each:
// turn
// 0 is the first range of `a`, turn 1 the first of `b`, turn 2 the second of `a`. `cost` is that of a turn in
// nanoseconds. Nothing where one of them has no parallel loop.
std::optional<kernel> beside(const kernel& a, const kernel& b, std::int64_t turns, double cost);

}  // namespace sheaf::inline v0_1::ir
