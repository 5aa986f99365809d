// Rule `steps`: a sum over places of which only every d-th has a term, as the gradient of a dilated convolution by its
// images: the sum over i.where((e - i) % d == 0) of f(i, (e - i) / d) is that over q of f(e - d * q, q), which walks a
// place for each term and divides nothing. Shown by tests/jit/steps.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

bool take_steps(const context& c, stage& s);

}  // namespace sheaf::inline v0_1::plan
