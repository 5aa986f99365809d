// Rows of a table that data chooses, as w(group(t), k, j): iterations of t share them where group(t) is equal. Such
// data may be asked for as a register tile begins, see register_tile.hpp.
#pragma once
#include <sheaf/jit/plan/plan.hpp>

namespace sheaf::inline v0_1::plan {

// A subscript that says which row of a table an iteration of idx reads, from `low` to below `high`. It is made of
// integers of data, that depend on idx and on none of the `inner` indices.
struct equal_rows {
  node_id subscript = no_node, low = no_node, high = no_node;
  std::vector<node_id> data;
};

// Those in the terms of these reductions: where there are far more iterations of idx than rows, and rows are long
// enough to be worth asking.
std::vector<equal_rows> equal_data(graph& g, const facts& known, const std::vector<node_id>& reductions, node_id idx,
                                   const index_set& inner);

// Does a value depend on the index by these nodes alone?
bool depends_by_these(const graph& g, node_id n, node_id idx, const std::vector<node_id>& nodes);

}  // namespace sheaf::inline v0_1::plan
