// Rule: a sum over slices, and over the places t of each, whose row follows from the place alone:
//   sum(m, t.in(lo(m), hi(m)), v(m) where id(t) == i) = sum(t, sum(m where lo(m) <= t < hi(m), v(m)) where id(t) == i)
// Slices that overlap then update a row once a place, not once a slice. Precondition: each t of a slice is a place of
// `id`, which its checks say. Shown by tests/rules/algorithms.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

bool take_scatter_by_place(const context& c, stage& s);

}  // namespace sheaf::inline v0_1::plan
