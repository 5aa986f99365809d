// Part of pass `checks`: where slices are short, data that is a subscript in them is walked as a whole before, in order
// and once. Only if something is out of bounds anywhere are slices asked, one by one, whether they read it.
// Input: a check in the indices of slices. Output: a stage before it, and what that stores. Shown by
// tests/numeric/errors.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>
#include <sheaf/jit/plan/shape_facts.hpp>

namespace sheaf::inline v0_1::plan {

// A condition without which the check finds nothing; no_node: slices are asked anyway.
node_id suspected(graph& g, const facts& known, const check& c, std::vector<stage>& first);

}  // namespace sheaf::inline v0_1::plan
