// Whether a plan follows the options of its program. Shown by tests/jit/options.cpp.
#pragma once
#include <sheaf/jit/plan/shape_facts.hpp>
#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

// Throws cannot_follow where it does not. Precondition: stages are scheduled and grouped.
void check_followed(const graph& g, const facts& known, const program_plan& plan);

// "options: strict, 16 lanes\n"; nothing where all is left to the planner.
std::string options_text(const options& wanted);

}  // namespace sheaf::inline v0_1::plan
