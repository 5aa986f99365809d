// Rule, for a GPU: a maximum and the sum of the powers about it are one fold of pairs (maximum, sum relative to it),
//   (m, s) and (n, t) join to (max(m, n), s exp(m - max) + t exp(n - max)),
// and a mean and the sum of the squares about it one of counts, means and squares, so that rows which no cache holds
// are read once: with one exponential, or one division, an element. So are an extremum and its place, where results are
// so few that they are folded in blocks. Condition: both reduce the same terms, over the same places. Result: the
// values of one state. (Milakov and Gimelshein, Online normalizer calculation for softmax, 2018.) Shown by
// tests/cuda/one_walk.cpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

bool take_one_walk(const context& c, stage& s);

// The same of a mean that a stage stores, and of the squares about it that another folds, before either is planned.
void walk_stored_means(graph& g, const facts& known, std::vector<stage>& stages);

}  // namespace sheaf::inline v0_1::plan
