// What kernels move and do, predicted: each kernel's bytes read and written, and its operations. Shown by
// tests/jit/options.cpp.
#pragma once
#include <sheaf/jit/plan/shape_facts.hpp>
#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

// Of memory beyond a core's own caches: what a kernel reads twice counts twice only where it does not stay in them. Of
// ranges made of data and of subscripts that are data the usual number counts, at most the whole tensor.
// Precondition: stages are scheduled and grouped.
void predict_traffic(const graph& g, const facts& known, program_plan& plan);

}  // namespace sheaf::inline v0_1::plan
