// Pass `unroll_and_jam`: a serial loop whose iterations are independent runs several at once, and the loops inside of
// it once for all of them: a register tile. What does not depend on the loop is loaded and computed once. Each
// iteration keeps its accumulators and the order in which they are combined, so no bit of a result changes. Of a loop
// that names values as `equal`, as the row of a table that data chooses, iterations run at once where these are equal.
// Shown by tests/jit/ir_passes.cpp.
#pragma once
#include <sheaf/jit/ir/ir.hpp>

namespace sheaf::inline v0_1::ir {

// Loops that say `jam`. Left as they are: those that keep something from iteration to iteration, or in memory that
// iterations share. Afterwards no loop says it.
void unroll_and_jam(module& m);

}  // namespace sheaf::inline v0_1::ir
