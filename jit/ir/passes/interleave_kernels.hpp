// Pass `interleave_kernels`: two kernels as one, whose tasks are interleaved. Shown by tests/jit/horizontal_fusion.cpp,
// tests/jit/ir_passes.cpp.
#pragma once
#include <sheaf/jit/ir/ir.hpp>

namespace sheaf::inline v0_1::ir {

// What kernel::interleaved says: each kernel ends in a parallel loop, and neither stores what the other touches. The
// one that stands first moves into the other's place.
void interleave_kernels(module& m);

}  // namespace sheaf::inline v0_1::ir
