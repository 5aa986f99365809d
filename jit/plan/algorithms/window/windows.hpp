// Pass `windows`: a fold over a range of one size that moves with an index, one element a step, along the memory of a
// stage, runs with a cost that does not depend on its size, in one pass over the data. See window_form.
// Shown by tests/jit/window.cpp.
#pragma once
#include <sheaf/jit/plan/rule.hpp>

namespace sheaf::inline v0_1::plan {

// The stage becomes a window if `r` is the only reduction in it; else r's becomes a stage. False: neither.
bool take_window(const context& c, const sliding& r, stage& s);
// The same for the ties of windows, whose keys and values lie along `keys.walk`. False: it does not fit.
bool take_extremum_sums_of_window(const context& c, const extremum_ties& t, const sliding& r, const walked& keys,
                                  node_id value, stage& s);

}  // namespace sheaf::inline v0_1::plan
