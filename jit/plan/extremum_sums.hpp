// The sum over what ties at the extremum of a range of several indices, one index at a time: E and S, see
// extremum_ranges.hpp. Of an index with a step they are those of windows that move by one element, and perhaps one
// element more; of a dilated one those of its parts, see interleaved.hpp.
#pragma once
#include <sheaf/jit/plan/sliding.hpp>

namespace sheaf::inline v0_1::plan {

//   sum over `bounds` of value where key == mine
struct extremum_sum_of {
  node_id reduce = no_node;
  std::vector<node_id> bounds;
  node_id mine = no_node, key = no_node, value = no_node;
  node_id condition = no_node;  // without the equality
  monoid extremum = monoid::max;
  bool own = false;  // mine is known to be the extremum of these keys
};
// Puts what it comes to into the stage.
bool fold_ties(graph& g, const facts& known, const extremum_sum_of& t, stage& s, std::vector<stage>& before);

// A range of one size goes with the index beside which the bound one stands in subscripts; perhaps dilated.
sliding slides(graph& g, node_id reduce, node_id bound);
// The index outside that the range of a bound index goes with.
node_id over_of(const graph& g, node_id bound);

}  // namespace sheaf::inline v0_1::plan
