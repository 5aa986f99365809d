#include <sheaf/jit/plan/layout.hpp>

#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/cost.hpp>

namespace sheaf::inline v0_1::plan {

stage layout_of(const context& c, node_id value, const stage& s) {
  graph& g = c.g;
  stage like = s;
  like.vector = no_node;
  amount least = 0;
  for (const node_id idx : indices_of(g, g.free[value])) {
    if (!may_vectorise(g, value, idx)) continue;
    const amount cost = cost_of(g, c.known, value, idx);
    if (like.vector != no_node && cost > least) continue;
    least = cost;
    like.vector = idx;
  }
  return like;
}

}  // namespace sheaf::inline v0_1::plan
