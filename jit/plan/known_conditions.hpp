// Rule `known conditions`: comparisons of subscripts whose outcome follows from the ranges of their indices, as of a
// padded access at the place itself, are not asked, nor is by a reduction what a choice or a reduction around it asks.
// Input: a stage's expression. Output: the same without them. Shown by tests/rules/algorithms.cpp and
// tests/jit/pair_ranges.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>
#include <sheaf/jit/plan/shape_facts.hpp>

namespace sheaf::inline v0_1::plan {

// i < extent, where i counts to the extent of another tensor, or to a number, or is one, that is no more in the call at
// hand: as of a padded access in the dimensions that are not padded. Where a program states no size, only a call says
// so.
bool ends_within(const facts& known, node_id condition);

bool take_known_conditions(const context& c, stage& s);

}  // namespace sheaf::inline v0_1::plan
