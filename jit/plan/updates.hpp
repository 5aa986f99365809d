// Outputs whose memory is an input's, as in step(w = v, w_next = v). Such an output is stored in place where all other
// reads of the input come first: in kernels before, or in the same iteration, of the same element. Else it is stored in
// workspace, and copied once nothing reads the input any more. Shown by tests/numeric/updates.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

// Pass `updates apart`: the outputs of call_facts::apart become workspace, with a copy of each as the output.
void store_apart(graph& g, const facts& known, std::vector<stage>& stages);

// Stages that read what an update stores over stand before it, as far as they don't need its result.
void order_updates(const graph& g, const facts& known, program_plan& plan);

// May a stage share the kernel's loop of tasks, for what either stores over?
bool may_share_updates(const graph& g, const facts& known, const program_plan& plan, const kernel_plan& k,
                       const stage& s);

// Pass `updates in place`: the outputs, by number, of which it is not sure that all reads come before. Empty: all are
// updated in place.
std::vector<int> unproven_updates(const graph& g, const facts& known, program_plan& plan);

// The facts of a call in which these outputs are stored apart too.
call_facts with_apart(call_facts call, const std::vector<int>& outputs);

}  // namespace sheaf::inline v0_1::plan
