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
// Of one of its indices along one index outside; an expression beside the reduction's own is to move as that does.
sliding sliding_along(graph& g, node_id reduce, node_id over, node_id bound, node_id beside = no_node);
// The same of a body that takes every other element:
//   fold over u of f(t + step * u)  is  fold over u in [low, high), two numbers, of value(t + step * u), the identity
//                                   outside [first, last).
sliding dilated_along(graph& g, node_id reduce, node_id over, node_id bound, node_id beside = no_node);

struct walked {
  node_id walk;   // s, a new index over [first, last)
  node_id value;  // in s, without t; the identity where the reduction's condition fails
};
walked value_along(graph& g, const sliding& r);
// An expression that moves as the reduction does, in s.
node_id along_walk(graph& g, const sliding& r, node_id walk, node_id e);

// A range bound less the constants that limit it: slope * t + rest, or quotient(t + rest, by) + more, of -t where `by`
// is negative.
struct bound_line {
  bool affine = false;  // the first of them; neither where `by` is 0
  std::int64_t slope = 0, by = 0;
  node_id rest = no_node, more = no_node;
  bool limited = false;
  node_id moving = no_node;  // what moves with t
};
bound_line bound_of(graph& g, node_id bound, node_id t);

// How many places a range has where nothing cuts it: so many, or where it is uneven one more.
struct length {
  bool known = false, uneven = false;
  std::int64_t least = 0;
};
length length_of(graph& g, const bound_line& low, const bound_line& high);
// Of a window; 0: not known, or not always the same.
std::int64_t width_of(graph& g, const sliding& r);

// The limits of its ends only take places away at the ends of [first, last).
bool cuts_only(const graph& g, const sliding& r);

}  // namespace sheaf::inline v0_1::plan
