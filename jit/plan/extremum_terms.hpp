// Ties of windows: the sums over a range that slides in which a value must equal the extremum of others.
//   sum over u of value(t + u) where key(t + u) == extremum over u of key(t + u)      how many tie, and derivatives
//   forward;
//   sum over t of value(t) where x(i) == key(t), with key(t) a maximum over windows that all hold x(i)   derivatives
//   back.
// In both nothing in the range lies beyond what it must equal, so the terms are those at the extremum of the keys, a
// fold of pairs (key, sum): a window of such pairs, whose cost does not grow with its size. Shown by
// tests/jit/ties.cpp.
#pragma once
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/sliding.hpp>

namespace sheaf::inline v0_1::plan {

struct tied {
  node_id reduce = no_node;
  sliding keys;                            // the range as it slides along the keys
  node_id mine = no_node;                  // without the bound index
  node_id key = no_node, value = no_node;  // in the bound index
  node_id condition = no_node;             // of the reduction, without the equality
  monoid extremum = monoid::max;
};

// reduce == no_node: it is none.
tied extremum_terms_of(graph& g, node_id reduce);

node_id seen_through(graph& g, node_id load);  // what a load of a definition stands for
bool is_extremum(const graph& g, node_id n);
node_id with(graph& g, node_id e, node_id from, node_id to, proofs of_loads = proofs::dropped);
// A stage of `before` that has this value already, read at `walk`; no_node: there is none.
node_id known_as(graph& g, node_id value, node_id walk, const std::vector<stage>& before);

}  // namespace sheaf::inline v0_1::plan
