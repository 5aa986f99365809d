// Rule `data prefix`: folds from the first element up to where data says, or from there to the last one, of elements
// that all of them share: a running fold has each. Shown by tests/jit/ordered_keys.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

// A fold over [low, high) whose one end is the first or the last place: read of the running fold over all of them.
struct running_lookup {
  node_id reduce, value, first, last, low, high;
  bool grows;  // from the first place on
};
node_id looked_up_running(const context& c, const stage& s, const running_lookup& of);

bool take_data_prefix(const context& c, stage& s);

}  // namespace sheaf::inline v0_1::plan
