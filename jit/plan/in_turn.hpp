// Pass `in_turn`: what a kernel stores for itself, written and read again within one turn of loops that all its stages
// share, is kept for one turn at a time: that stays in a cache, where an array of all turns goes to memory and back.
// Loops that pieces share are left alone: pieces run beside each other. Shown by tests/jit/taps.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

// Sets `in_turn` of grouped stages.
void keep_in_turn(const graph& g, const facts& known, program_plan& plan);

}  // namespace sheaf::inline v0_1::plan
