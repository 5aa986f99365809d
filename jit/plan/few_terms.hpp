// Rule: a reduction of few terms, a constant number of them, becomes these terms, combined in the order of the
// indices, the last one first: no loop of a row of three is folded across lanes, and what surrounds it may run in
// lanes. Shown by tests/jit/few_terms.cpp.
#pragma once
#include <span>

#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

// Is it a constant number of terms, and a small one, that a reduction over these indices has?
bool are_few(const graph& g, std::span<const node_id> indices);

bool take_few_terms(const context& c, stage& s);

}  // namespace sheaf::inline v0_1::plan
