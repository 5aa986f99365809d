// Two kernels as one, whose tasks are interleaved. Shown by tests/jit/horizontal_fusion.cpp.
#pragma once
#include <optional>

#include <sheaf/jit/ir/ir.hpp>

namespace sheaf::inline v0_1::ir {

// Each ends in a parallel loop, and neither stores what the other touches. The loops are cut into `iterations` ranges
// each: iteration
// 0 is the first range of `a`, iteration 1 the first of `b`, iteration 2 the second of `a`. `cost` is that of an
// iteration in nanoseconds. Nothing where one of them has no parallel loop.
std::optional<kernel> interleaved(const kernel& a, const kernel& b, std::int64_t iterations, double cost);

}  // namespace sheaf::inline v0_1::ir
