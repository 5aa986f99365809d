// Indices that an expression has both free and bound in a reduction inside: what is put there would be captured.
#pragma once
#include <sheaf/jit/plan/walks.hpp>

namespace sheaf::inline v0_1::plan {

// Does a reduction in e, itself included, bind one of these?
inline bool binds(const graph& g, node_id e, const index_set& these) {
  return any_node(g, e, [&](node_id n) {
    return g.kind(n) == op::reduce && set_of(g, bound_indices(g, n)).meets(these);
  });
}

}  // namespace sheaf::inline v0_1::plan
