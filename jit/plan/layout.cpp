#include <sheaf/jit/plan/layout.hpp>

#include <sheaf/dsl/graph/affine.hpp>
#include <sheaf/jit/plan/cost.hpp>
#include <sheaf/jit/plan/rewrite.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

// Of a running result, the index over which it runs.
node_id runs_over(const context& c, node_id value) {
  graph& g = c.g;
  if (g.kind(value) != op::reduce || g[value].count != 3) return no_node;
  const node_id bound = g.arg(value, 2);
  for (const node_id idx : indices_of(g, g.free[value])) {
    const bool low = uses(g, g.arg(bound, 0), idx), high = uses(g, g.arg(bound, 1), idx);
    if (low != high && split_affine(g, g.arg(bound, low ? 0 : 1), idx).affine) return idx;
  }
  return no_node;
}

}  // namespace

stage layout_of(const context& c, node_id value, const stage& s) {
  graph& g = c.g;
  stage like = s;
  like.vector = no_node;
  amount least = 0;
  const node_id over = runs_over(c, value);
  for (const node_id idx : indices_of(g, g.free[value])) {
    // It is made as its terms lie, one after the other.
    const node_id made = over == no_node ? value : g.arg(value, 0), lane = idx == over ? g.arg(value, 2) : idx;
    if (!may_vectorise(g, made, lane)) continue;
    const amount cost = cost_of(g, c.known, made, lane);
    if (like.vector != no_node && cost > least) continue;
    least = cost;
    like.vector = idx;
  }
  return like;
}

}  // namespace sheaf::inline v0_1::plan
