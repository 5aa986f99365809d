// Rule `ordered keys`: folds of the terms whose key compares with a value, as of `t(i) <= q(k)`, where the keys ascend,
// which a call asks once. The terms then are a range, which two searches find. Shown by tests/jit/ordered_keys.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

bool take_ordered_keys(const context& c, stage& s);

}  // namespace sheaf::inline v0_1::plan
