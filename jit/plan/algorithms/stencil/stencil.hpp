// Algorithm `unrolled stencil`: small windows, forward and backward. Shown by tests/jit/stencil.cpp.
// - materialised results: a reduction inside another's terms, at places from a range that the outer indices narrow, is
//   stored at all places of the range it was narrowed from, once instead of by each that reads it;
// - unrolled stencil: a window along the last index of a stage, of at most 16 points whose range that index decides, is
//   unrolled: an expression of one term a point under its condition. Lanes then go along the last index.
// Input: a stage as materialise.cpp works on it. Output: the stage changed, and what it now reads in `before`.
#pragma once
#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

bool take_materialised_results(const context& c, stage& s);
bool take_stencil(const context& c, stage& s);
// Loops and lanes of a stencil stage.
void schedule_stencil(graph& g, const facts& known, stage& s);

}  // namespace sheaf::inline v0_1::plan
