// Pass `unswitch_loops`: a condition that no iteration changes is asked once, before the loop. Shown by
// tests/jit/ir_passes.cpp.
#pragma once
#include <sheaf/jit/ir/ir.hpp>

namespace sheaf::inline v0_1::ir {

// Serial loops that do nothing but what a guard holds: the guard then holds the loop. What stands below is a loop that
// loads and folds like others, which may be unrolled.
void unswitch_loops(module& m);

}  // namespace sheaf::inline v0_1::ir
