// From a graph to kernel IR: the passes, in order. What an engineer should read first; docs/architecture.md draws it.
// With SHEAF_DEBUG=6 the plan is written to stderr after each pass that changed it, and with SHEAF_VERIFY=on it is
// verified after each. Shown by tests/jit/pipeline.cpp.
#pragma once
#include <span>
#include <string>
#include <vector>

#include <sheaf/jit/lower/buffers.hpp>

namespace sheaf::inline v0_1 {

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

  // The code of calls after the first with the same promised data: without the kernels that are promised.
  ir::module code_again() const;

  // The extents of output k, as expressions like those of workspaces.
  std::vector<node_id> output_extents(int k);
};

// A program on its way.
struct compilation {
  planned& program;
  const plan::facts& known;
  lower::buffer_ids buffers;
  std::vector<int> unproven = {};  // outputs that must be stored apart from the input where they lie: planned again
};

struct pass {
  const char* name;
  const char* why_here;
  void (*run)(compilation&);
};
std::span<const pass> passes();

// g: outputs set, axes resolved, gradients there. name: a C identifier.
planned plan_program(graph g, const plan::call_facts& call, const std::string& name);

}  // namespace sheaf::inline v0_1
