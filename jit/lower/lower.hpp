// Pass `lower`: a plan as kernel IR. Each node is emitted once, at the outermost loop that binds what it depends on, so
// hoisting and the sharing of values between stages need no pass of their own. Shown by tests/jit/plan.cpp,
// tests/jit/plan_fuzz.cpp.
#pragma once
#include <string>
#include <vector>

#include <sheaf/jit/ir/ir.hpp>
#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1 {

// A row-major array that the runtime allocates for a call, dense but for what comes in turn; contents need not be set.
struct workspace {
  element type;
  std::vector<node_id> extents;  // expressions of planned::g without free indices and data, of the call's extents
  bool kept = false;             // written by kernels that need not run again while promised data stays as it is
  std::vector<bool> in_turn = {};  // by dimension: its places come one after the other, in the same memory
};

// A program ready for an emitter. Slots of sheaf_call::tensors: inputs, outputs, workspaces, then one i64 of rank 0 for
// each check that is not uniform. The host evaluates the uniform checks (`outside` must be false) before the call; the
// others run first and return SHEAF_BAD_INDEX with check = ordinal before anything else is written.
// The code relies on graph::constraints, on unit_inner as promised, and on extents of which as many lanes as a loop
// has are a divisor, where they were in the facts it was planned with. Beyond that it is right for any extents.
struct planned {
  graph g;
  plan::program_plan plan;
  ir::module code;
  std::vector<workspace> workspaces;
  std::vector<plan::check> checks;  // all, in order of evaluation; `ordinal` is the place among the check slots
  std::string text;                 // the plan, for a person

  // The code of calls after the first with the same promised data: without the kernels that are kept.
  ir::module code_again() const;

  // The extents of output k, as expressions like those of workspaces.
  std::vector<node_id> output_extents(int k);
};

// g: outputs set, axes resolved, gradients there. name: a C identifier.
planned plan_program(graph g, const plan::call_facts& call, const std::string& name);

}  // namespace sheaf::inline v0_1
