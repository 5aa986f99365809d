// Which reductions run over a range that slides with an index: running results, and windows.
//   fold over u of f(stride * t + u)  is  fold over s in [low(t), high(t)) of value(s),
// with low and high never falling as t grows. Shown by tests/jit/scan.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

struct sliding {
  node_id reduce = no_node;
  node_id over = no_node;   // t, an index that the reduction depends on
  node_id bound = no_node;  // u
  std::int64_t stride = 0;
  std::int64_t step = 1;                    // of s, as u grows by one; not 1: see dilated_along
  node_id low = no_node, high = no_node;    // of s, in t
  node_id first = no_node, last = no_node;  // of s, over all t: [first, last)
  struct meeting {
    node_id node, rest;  // an expression in t and u, as s + rest
  };
  std::vector<meeting> meetings;
};

// The first index along which a reduction slides; over == no_node: none does.
sliding sliding_of(graph& g, node_id reduce);
// Of one of its indices along one index outside.
sliding sliding_along(graph& g, node_id reduce, node_id over, node_id bound);
// The same of a body that takes every other element:
//   fold over u of f(t + step * u)  is  fold over u in [low, high), two numbers, of value(t + step * u), the identity
//                                   outside [first, last).
sliding dilated_along(graph& g, node_id reduce, node_id over, node_id bound);

struct walked {
  node_id walk;   // s, a new index over [first, last)
  node_id value;  // in s, without t; the identity where the reduction's condition fails
};
walked value_along(graph& g, const sliding& r);

// A range bound as `slope * t + rest`, less the constants that limit it.
// How many places a window has that is not cut at the ends; 0: not known, or not always the same.
std::int64_t width_of(graph& g, const sliding& r);

struct bound_line {
  bool affine = false;
  std::int64_t slope = 0;
  node_id rest = no_node;
  bool limited = false;
};
bound_line bound_of(graph& g, node_id bound, node_id t);

// The limits of its ends only take places away at the ends of [first, last).
bool cuts_only(const graph& g, const sliding& r);

}  // namespace sheaf::inline v0_1::plan
