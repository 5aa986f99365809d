// Algorithm `polyphase`: a window that takes every d-th element (dilated) is one of d windows that take each of theirs:
// with
//   t = d * a + r,   fold over u of value(t + d * u)  is  fold over u of laid(r, a + u),   laid(r, q) = value(d * q +
//                    r).
// What the values are is laid out so once; the window then moves by one element along memory. Shown by
// tests/jit/extremum_with_sum.cpp.
#pragma once
#include <sheaf/jit/plan/sliding.hpp>

namespace sheaf::inline v0_1::plan {

// The indices of a dilated range, once it is laid out.
struct phases {
  node_id along = no_node;                        // a, over what t is d times of
  node_id part = no_node;                         // r
  node_id walk = no_node;                         // q, for all of them
  node_id place = no_node;                        // d * q + r
  node_id inside = no_node;                       // is it one of the range's places? Elsewhere nothing is
  node_id begin = no_node, end = no_node;         // of q, in a: the range that belongs to it
  node_id at_along = no_node, at_part = no_node;  // of t
};
phases phases_of(graph& g, const sliding& dilated);

// What stands for a reduction over a long dilated range, other than sums of ties; no_node: it is none.
node_id take_polyphase(const context& c, node_id reduce, const stage& s);

}  // namespace sheaf::inline v0_1::plan
