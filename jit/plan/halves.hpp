// Rule: what a stage computes of f16 and bf16 is written as an expression of f32, in which its loads are cast; its
// result is cast back. So it is held anyway; but only as f32 do other rules see sums that scans, scatters, stencils and
// tiles may take, and panels keep elements that are converted once. Condition: halves are added, multiplied and the
// like; what is only chosen, compared or stored stays. For processors: a GPU has instructions for products of halves.
// Shown by tests/jit/halves.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

// The reduction with its terms in f32, of that type where it is not one of positions; itself, where it has no halves.
// none: the fold is of several values.
node_id with_terms_in_f32(graph& g, node_id reduce);

bool take_halves(const context& c, stage& s);

}  // namespace sheaf::inline v0_1::plan
