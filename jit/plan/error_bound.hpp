// How far rounding can take an output from the exact result: what explain() says of each. Input: a whole plan, whose
// reductions have their lanes, blocks and accumulators. Shown by tests/jit/error_bound.cpp and, over all programs of
// tests/coverage, by their error_bounds.
//
// The bound is relative to the output's magnitude M, to first order: what comes out if numbers count by their absolute
// value and differences as sums. M(x) = |x| of an input; M(a + b) = M(a - b) = M(a) + M(b); the M of a sum or product
// over indices is the sum or product of M, that of an extremum the largest; M(f(a, b)) of any other function is the
// largest of |f(a, b)|, |df/da| M(a) and |df/db| M(b).
#pragma once
#include <string>

#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

struct error_bound {
  double relative = 0;       // the error is at most this times M; infinite: nothing is known
  bool compares = false;     // and if comparisons of rounded numbers come out as those of exact ones
  double of_sum = 0;         // what one reduction contributes to it, the most of all:
  node_id sum = no_node;
  double terms = 0;          // it has at most so many
};

error_bound error_bound_of(graph& g, const facts& known, const program_plan& plan, node_id output);

// A line for each floating output.
std::string error_text(graph& g, const facts& known, const program_plan& plan);

}  // namespace sheaf::inline v0_1::plan
