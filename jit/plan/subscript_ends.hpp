// The least and the most that a subscript is over the ranges of its indices. Shown by tests/text/guarded.cpp.
#pragma once
#include <optional>

#include <sheaf/dsl/graph/graph.hpp>

namespace sheaf::inline v0_1::plan {

// What a subscript is at least and at most, with each index it is affine in at an end of its range.
struct ends {
  node_id least, most;
  node_id nonempty;  // every range it walks has an element
};
ends ends_of(graph& g, node_id subscript);
// Of the place of an extremum, one of those that are folded or, of none, -1: where all of them are within [low, high),
// so that it is outside only where there is none. Its data is not asked then.
std::optional<ends> ends_of_place(graph& g, node_id e, node_id low, node_id high);
// A subscript that a wrapped or a reflected access moves inside of [0, high) is inside where the clamped one is: where
// there is an element. That one instead, for its ends are known; another subscript as it is.
node_id clamped_instead(graph& g, node_id subscript, node_id high);
// Indices of the subscript on which it does not depend whether it is inside, as of one that is clamped to no element:
// nothing is read where they have no value.
void ask_for_elements(graph& g, ends& r, node_id inside);

}  // namespace sheaf::inline v0_1::plan
