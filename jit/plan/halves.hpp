// Rule: what a reduction makes of f16 and bf16 that its results share is written as an expression of f32, in which its
// loads are cast. So it is held anyway; but only as f32 is it seen that panels and tiles may keep it, so that each
// element is converted once, not for each result. Condition: two loads of which each has an index that the other lacks,
// and none that has both, as in products, distances and convolutions. Result: the reduction of f32, cast. For
// processors: a GPU has instructions for products of halves. Shown by tests/jit/halves.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

// The reduction with its terms in f32, of that type where it is not one of positions; itself, where it has no halves.
// none: the fold is of several values.
node_id with_terms_in_f32(graph& g, node_id reduce);

bool take_halves(const context& c, stage& s);

}  // namespace sheaf::inline v0_1::plan
