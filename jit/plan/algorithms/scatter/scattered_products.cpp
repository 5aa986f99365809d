#include <sheaf/jit/plan/algorithms/scatter/scattered_products.hpp>

#include <algorithm>

#include <sheaf/dsl/graph/affine.hpp>
#include <sheaf/jit/plan/products.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/stages.hpp>

namespace sheaf::inline v0_1::plan {

node_id with_products_apart(const context& c, const stage& s, node_id n, node_id owned) {
  graph& g = c.g;
  const std::vector<node_id> bound = bound_indices(g, n);
  if (monoid_of(g, n) != monoid::sum || bound.size() < 2 || !has_closed_ranges(g, n)) return n;
  flat<node_id> list;
  deltas::conjuncts(g, g.arg(n, 1), list);
  index_set naming;  // the bound indices that say which row it is
  node_id at = no_node;
  for (const node_id e : list) {
    if (!uses(g, e, owned)) continue;
    if (at != no_node || g.kind(e) != op::equal) return n;
    at = g.arg(e, 0) == owned ? g.arg(e, 1) : g.arg(e, 0);
    if (uses(g, at, owned) || (g.arg(e, 0) != owned && g.arg(e, 1) != owned)) return n;
    naming = g.free[at].common(set_of(g, bound));
  }
  std::vector<node_id> updates, rest;
  for (const node_id idx : bound) (naming.has(g.ordinal(idx)) ? updates : rest).push_back(idx);
  if (updates.empty() || rest.empty()) return n;
  node_id of_update = truth(g, true), of_rest = truth(g, true);
  for (const node_id e : list) {
    node_id& all = g.free[e].meets(set_of(g, rest)) ? of_rest : of_update;
    all = conjunction(g, all, e);
  }
  for (const node_id idx : rest)
    if (!g.free[idx].within(set_of(g, rest))) return n;
  replacement put(g, proofs::kept);
  put.add(owned, at);
  const node_id product = intern_reduce(g, monoid::sum, g.type(n), put(g.arg(n, 0)), put(of_rest), rest);
  if (!is_small_product(g, c.known, product)) return n;
  stage like = s;
  like.vector = no_node;
  std::ranges::replace(like.indices, owned, updates.front());  // it lies as the rows do
  const node_id each = stored(c, product, {"product", like, "a product of each update, which a scatter adds up"});
  return intern_reduce(g, monoid::sum, g.type(n), each, of_update, updates);
}

}  // namespace sheaf::inline v0_1::plan
