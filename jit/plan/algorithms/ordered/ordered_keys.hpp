// Rule `ordered keys`: folds of the terms whose key compares with a value, as of `t(i) <= q(k)`. Where the keys ascend,
// which a call asks once, the terms are a range, which two searches find; others are sorted first. Shown by
// tests/jit/ordered_keys.cpp and tests/jit/sorted_keys.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

bool take_ordered_keys(const context& c, stage& s);

}  // namespace sheaf::inline v0_1::plan
