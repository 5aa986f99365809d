// Pass `slots`: what codes of a program have in common finds its arrays at the same slots, so that it is the same
// machine code, which is held once (jit/llvm/merge.cpp). Plans for classes of extents differ in some of their stages.
// Input, output: the codes, whose kernels stay as they are. Shown by tests/aot/classes.cpp.
#pragma once
#include <vector>

#include <sheaf/jit/ir/ir.hpp>

namespace sheaf::inline v0_1::aot {

// By code: where each workspace and check of its plan is, in order, counted from `given` on: after the arguments.
std::vector<std::vector<int>> share_slots(std::vector<ir::module>& codes, int given);

}  // namespace sheaf::inline v0_1::aot
