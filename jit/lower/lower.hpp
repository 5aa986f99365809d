// Pass `lower`: a plan as kernel IR. Each node is emitted once, at the outermost loop that binds what it depends on, so
// hoisting and the sharing of values between stages need no pass of their own. Shown by tests/jit/plan.cpp,
// tests/jit/plan_fuzz.cpp.
#pragma once
#include <sheaf/jit/lower/buffers.hpp>

namespace sheaf::inline v0_1::lower {

// Adds the program's own monoids to the module, as steps.
void add_folds(const graph& g, ir::module& code);

// Adds the kernels of a plan, in order.
void add_kernels(const context& c, const buffer_ids& buffers);

}  // namespace sheaf::inline v0_1::lower
