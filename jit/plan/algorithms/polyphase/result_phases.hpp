// Rule `phases of results`: neighbouring results whose sums walk a window that moves by one every d places, as the
// gradient of a strided convolution by its images, take what they multiply from every d-th place: lanes of them would
// each load their own. With l = d * a + r the results of one r are a window of their own, which moves by one along a:
// each r is stored in a stage, and what a result is follows from l % d. So are results without sums that read at places
// rounded by d, as of twofold upsampling. Shown by tests/jit/result_phases.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

bool take_result_phases(const context& c, stage& s);

}  // namespace sheaf::inline v0_1::plan
