// Pass `buffers`: where each tensor of a program lives. Shown by tests/jit/plan.cpp.
#pragma once
#include <unordered_map>
#include <vector>

#include <sheaf/jit/ir/ir.hpp>
#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1 {

// A row-major array that the runtime allocates for a call, dense but for what comes in turn; contents need not be
// set.
struct workspace {
  element type;
  std::vector<node_id> extents;  // expressions of planned::g without free indices and data, of the call's extents
  bool promised = false;         // written by kernels that need not run again while promised data stays as it is
  std::vector<bool> folded_storage = {};  // by dimension: its places come one after the other, in the same memory
};

}  // namespace sheaf::inline v0_1

namespace sheaf::inline v0_1::lower {

// What passes lower from, and to.
struct context {
  graph& g;
  const plan::facts& known;
  plan::program_plan& plan;
  ir::module& code;
};

// By what loads name: an input, or a definition.
using buffer_ids = std::unordered_map<node_id, std::int32_t>;

// Adds the buffers of a plan's inputs, outputs, workspaces and checks to the code, by slot in this order, and numbers
// the stages that go to workspaces.
buffer_ids add_buffers(const context& c, std::vector<workspace>& workspaces);

}  // namespace sheaf::inline v0_1::lower
