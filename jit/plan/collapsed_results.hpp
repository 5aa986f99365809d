// Rule: results of images that are read place by place, as those of a convolution with one point, lie in a row: their
// last two indices become one, so that lanes are full where rows of an image are short.
// Shown by tests/jit/collapsed_results.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

bool take_collapsed_results(const context& c, stage& s);

}  // namespace sheaf::inline v0_1::plan
