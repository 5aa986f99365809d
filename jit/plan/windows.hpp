// Pass `windows`: a fold over a range of one size that moves with an index, one element a step, along the memory of a stage,
// runs with a cost that does not depend on its size, in one pass over the data. See window_form.
// Shown by tests/jit/window.cpp.
#pragma once
#include <sheaf/jit/plan/sliding.hpp>

namespace sheaf::plan {

// The stage becomes a window if `r` is the only reduction in it; else r's becomes a stage. False: neither.
bool take_window(graph& g, const facts& known, const sliding& r, stage& s, std::vector<stage>& before, trust& trusted);

}  // namespace sheaf::plan
