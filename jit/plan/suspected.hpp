// Part of pass `checks`: one cheap walk before the checks, each of which finds the first position that fails. Only if
// something is out of bounds anywhere do they look for it.
// - Data that is a subscript inside short slices is walked as a whole, in order and once, before slices are asked.
// - Checks over the same elements are asked together, in lanes of 32 bits where a subscript is a number that was cast;
//   what bounds a subscript without its data (a minimum, a remainder, a small type) is asked once, before any element.
// Input: checks whose positions are known. Output: a stage before them, and what that stores. Shown by
// tests/numeric/errors.cpp.
#pragma once
#include <optional>
#include <span>
#include <unordered_set>
#include <vector>

#include <sheaf/jit/plan/plan.hpp>
#include <sheaf/jit/plan/shape_facts.hpp>

namespace sheaf::inline v0_1::plan {

// A condition without which the check finds nothing; no_node: slices are asked anyway.
node_id suspected(graph& g, const facts& known, const check& c, std::vector<stage>& first);

// What a check asks, without the conditions and the loops that its subscript knows nothing of; none: there are no more.
struct lone_question {
  node_id outside;
  std::vector<node_id> indices;
};
std::optional<lone_question> by_itself(graph& g, const check& c);
// Is one of those that are asked before, in the same call, this question? Then where the check fails that one does.
bool is_implied(graph& g, const std::optional<lone_question>& alone, std::span<const check> asked);

// Of a check behind conditions, which walks more loops than its subscript: that one may be outside at all, as a stage;
// no_node where there are no more.
node_id suspected_by_itself(graph& g, const check& c, const std::optional<lone_question>& alone,
                            std::vector<stage>& first);

// Checks over the same indices, by their numbers, and a stage that says whether any of them fails.
struct suspicion {
  std::vector<std::size_t> checks;
  stage asks;
};
// by_data: loads that checks of data vouch for; a check that reads one is asked by itself, after those.
std::vector<suspicion> suspected_together(graph& g, const facts& known, std::span<const check> checks,
                                          const std::unordered_set<node_id>& by_data);

}  // namespace sheaf::inline v0_1::plan
