// Pass `folded_storage`: what a kernel stores for itself, written and read again within one iteration of loops that all
// its stages share, is kept for one iteration at a time: that stays in a cache, where an array of all iterations goes
// to memory and back. Loops that tasks share are left alone: tasks run beside each other. Shown by
// tests/jit/stencil.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

// Sets `folded_storage` of grouped stages.
void fold_storage(const graph& g, const facts& known, program_plan& plan);

}  // namespace sheaf::inline v0_1::plan
