// Which sums are over the ties of an extremum: nothing in their range lies beyond what the keys must equal.
//   sum over u of value(t + u) where key(t + u) == extremum over u of key(t + u)      how many tie, and derivatives
//   forward;
//   sum over t of value(t) where x(i) == key(t), with key(t) an extremum over ranges that all hold x(i)   derivatives
//   back.
// Then mine is the extremum of the keys, or nothing ties: the sum is one value of the tuple (extremum, sum at it),
// which windows carry at a cost that does not grow with the range. Shown by tests/jit/ties.cpp and
// tests/jit/extremum_with_sum.cpp.
#pragma once
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/sliding.hpp>

namespace sheaf::inline v0_1::plan {

//   sum over `bounds` of value where key == mine
struct extremum_ties {
  node_id reduce = no_node;
  std::vector<node_id> bounds;
  node_id mine = no_node, key = no_node, value = no_node;  // 0 where another condition fails
  monoid extremum = monoid::max;
  bool own = false;  // mine is known to be the extremum of these keys
};

// reduce == no_node: it is none.
extremum_ties extremum_ties_of(graph& g, node_id reduce);
// How its one range slides along the keys, and what is beside them; over == no_node: it has several, or is no window.
sliding window_of(graph& g, const extremum_ties& t, node_id beside);

// combine((k, v), (l, w)) = (e, fold(v where k is e, w where l is e)), e the extremum of k and l. The first of its two
// rows. Keys of places may be NaN, which then is the extremum.
monoid extremum_with(graph& g, monoid extremum, element key, monoid fold, element value);

// What is computed of halves is held as f32, but ties are those of what would be stored: the number as compared.
node_id as_compared(graph& g, node_id e);

// The index outside that the range of a bound index goes with.
node_id over_of(const graph& g, node_id bound);

}  // namespace sheaf::inline v0_1::plan
