// Rule: a scatter to places near its index, as the gradient of a maximum over windows has it that goes to one element:
//   sum(i where k == a * i + p(i), v(i)) = sum(i where l <= k - a * i < h and p(i) == k - a * i, v(i))
// where l <= p(i) < h, two numbers. Each row asks the few updates that may be for it, in lanes, and none looks for its
// row. Of several dimensions p is one number, which is stored in a byte. Shown by tests/jit/near_scatter.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

bool take_near_scatter(const context& c, stage& s);

}  // namespace sheaf::inline v0_1::plan
