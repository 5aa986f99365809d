// Pass `horizontal fusion`: two kernels that do not need each other, one that mostly reads memory and one that mostly
// writes it, share one loop, a range of tasks of the one, then a range of the other. Threads then read and write at the
// same time, and memory does both faster than one after the other. Which thread takes which task decides no result.
// Shown by tests/jit/horizontal_fusion.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>
#include <sheaf/jit/plan/shape_facts.hpp>

namespace sheaf::inline v0_1::plan {

// Sets `interleaved`. Precondition: the traffic is predicted.
void fuse_horizontally(const facts& known, program_plan& plan);

}  // namespace sheaf::inline v0_1::plan
