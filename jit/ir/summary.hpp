// What was decided of the code below the plan, for a person: explain() prints it after the plan. Shown by
// tests/jit/pipeline.cpp.
#pragma once
#include <sheaf/jit/ir/ir.hpp>

namespace sheaf::inline v0_1::ir {

// A paragraph for each kernel of which there is something to say.
std::string summary(const module& m);

}  // namespace sheaf::inline v0_1::ir
