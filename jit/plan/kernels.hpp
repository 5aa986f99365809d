// Pass `kernels`: stages that share the index their tasks run over go into one kernel, one after the other in each
// task, where a later one reads of an earlier one only what its own task has stored. Shown by tests/jit/plan.cpp.
#pragma once
#include <sheaf/jit/plan/leader_names.hpp>
#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

// Sets `asked`.
void mark_demanded(const graph& g, std::vector<stage>& stages);

// Gives stages the same index node where their leading ranges are equal, then groups them.
void group(graph& g, const facts& known, program_plan& plan);

}  // namespace sheaf::inline v0_1::plan
