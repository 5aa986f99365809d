// Sums about a centre: squares about a mean, powers about a maximum. What they are worth about another, and what may
// be one.
#pragma once
#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

// What a sum about one centre is worth about another, `by` being what the first lies above the second. count: how many
// squares there are; nothing: what no power, or powers of -inf alone, come to.
node_id moved_squares(graph& g, node_id sum, node_id by, node_id count);
node_id moved_powers(graph& g, node_id sum, node_id by, node_id nothing);

// A maximum to centre powers about: of -inf alone any number will do.
node_id finite_shift(graph& g, node_id maximum);

// Are the partial results of this stage those of this very value, along `cut`, of all rows?
bool folds(graph& g, const stage& made, node_id cut, node_id value);

}  // namespace sheaf::inline v0_1::plan
