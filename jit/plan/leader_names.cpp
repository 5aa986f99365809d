#include <sheaf/jit/plan/leader_names.hpp>

#include <sheaf/jit/plan/roots.hpp>

namespace sheaf::inline v0_1::plan {

void rename_parallel(graph& g, stage& s, node_id to) {
  replacement put(g, proofs::kept);
  put.rename(s.parallel, to);
  replace_in_roots(s, put);
}

// Those of none, too. What extents give when the kernel runs is the same expression.
static bool same_blocks(const graph& g, const row_blocks& a, const row_blocks& b) {
  if (a.whole == no_node || b.whole == no_node) return a.whole == b.whole;
  return a.size == b.size && (a.size > 0 || known_equal(g, g.arg(a.block, 1), g.arg(b.block, 1)));
}

bool rename_updates(graph& g, const stage& leader, stage& s) {
  const auto walk = bound_indices(g, leader.body), own = bound_indices(g, s.body);
  if (walk.size() != own.size() || leader.indices.size() != s.indices.size() || !same_blocks(g, leader.rows, s.rows))
    return false;
  replacement put(g, proofs::kept);
  bool same = true;
  const auto rename = [&](node_id from, node_id to) {
    if (from == to) return;
    same = same && same_range(g, from, to) && !mentions(g, s, to);
    put.rename(from, to);
  };
  if (s.rows.whole != no_node) rename(s.rows.whole, leader.rows.whole);
  for (std::size_t d = 0; d < s.indices.size(); ++d) rename(s.indices[d], leader.indices[d]);
  for (std::size_t k = 0; k < own.size(); ++k) {
    if (own[k] != s.rows.part || walk[k] != leader.rows.part)
      rename(own[k], walk[k]);
    else if (own[k] != walk[k])
      put.rename(own[k], walk[k]);  // the ranges of a block are as those of the whole
  }
  if (same) replace_in_roots(s, put);
  return same;
}

void rename_pairs(graph& g, const stage& leader, stage& s) {
  if (leader.loops.size() != s.loops.size()) return;
  replacement put(g, proofs::kept);
  const auto rename = [&](node_id from, node_id to) {
    if (from != to && same_range(g, from, to) && !mentions(g, s, to)) put.rename(from, to);
  };
  rename(s.pairs().rows, leader.pairs().rows);
  rename(s.pairs().walk, leader.pairs().walk);
  for (std::size_t d = 0; d < s.loops.size(); ++d) rename(s.loops[d], leader.loops[d]);
  replace_in_roots(s, put);
}

}  // namespace sheaf::inline v0_1::plan
