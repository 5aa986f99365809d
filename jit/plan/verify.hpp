// The grammar of a plan. Shown by tests/jit/pipeline.cpp.
//
//   loops     those of a map are its indices, each once, unless rows are walked in blocks; the innermost runs in lanes
//   lanes     a power of two, 1 to 256
//   form      that of the stage's algorithm
//   scope     the value of such a map depends on its indices only
//   stored    what a stage loads is an input or what a stage stores
//   kernels   every stage with values is in a kernel, once; what a kernel loads was stored by it or one before
#pragma once
#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

struct bad_plan : std::logic_error {
  using std::logic_error::logic_error;
};

// Throws bad_plan with the rule and the stage.
void verify(const graph& g, const program_plan& plan);

}  // namespace sheaf::inline v0_1::plan
