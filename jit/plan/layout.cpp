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

namespace {

// The value as it is laid out: a running result inside is one term at its place, as it will be stored before.
node_id by_terms(const context& c, node_id value) {
  graph& g = c.g;
  replacement put(g, proofs::kept);
  const auto take = [&](auto&& self, node_id n) -> void {
    const node_id over = runs_over(c, n);
    if (over != no_node) return put.rename(n, with(g, g.arg(n, 0), g.arg(n, 2), over, proofs::kept));
    if (g.kind(n) == op::reduce || g.kind(n) == op::index || g.kind(n) == op::extent) return;
    for (int k = g.kind(n) == op::load ? 1 : 0; k < g[n].count; ++k) self(self, g.arg(n, k));
  };
  take(take, value);
  return put(value);
}

}  // namespace

stage layout_of(const context& c, node_id value, const stage& s) {
  graph& g = c.g;
  stage like = s;
  like.vector = no_node;
  amount least = 0;
  const index_set free = g.free[value];  // nodes are made below
  const node_id made = by_terms(c, value);
  for (const node_id idx : indices_of(g, free)) {
    if (!may_vectorise(g, made, idx)) continue;
    const amount cost = cost_of(g, c.known, made, idx);
    if (like.vector != no_node && cost > least) continue;
    least = cost;
    like.vector = idx;
  }
  return like;
}

}  // namespace sheaf::inline v0_1::plan
