#include <sheaf/jit/plan/leader_names.hpp>

#include <algorithm>

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

namespace {

bool rename_scan(graph& g, const stage& leader, stage& s) {
  const scan_form &to = leader.scan(), &from = s.scan();
  const auto is_plain = [](const scan_form& f) {
    return f.factor == no_node && !f.ends && !f.open && f.shift == (f.backward ? 0 : 1);
  };
  const bool alike = is_plain(to) && is_plain(from) && to.backward == from.backward && to.block == from.block &&
                     (to.block_index == no_node) == (from.block_index == no_node) &&
                     leader.indices.size() == s.indices.size() && leader.loops.size() == s.loops.size() &&
                     (leader.vector == no_node) == (s.vector == no_node) && leader.lanes == s.lanes &&
                     uses(g, to.value, to.walk) && uses(g, from.value, from.walk);
  if (!alike) return false;
  replacement put(g, proofs::kept);
  bool same = true;
  const auto rename = [&](node_id old, node_id name) {
    if (old == name) return;
    same = same && same_range(g, old, name) && !mentions(g, s, name);
    put.rename(old, name);
  };
  for (std::size_t d = 0; d < s.indices.size(); ++d) rename(s.indices[d], leader.indices[d]);
  for (std::size_t d = 0; d < s.loops.size(); ++d) rename(s.loops[d], leader.loops[d]);
  rename(from.walk, to.walk);
  if (to.block_index != no_node) rename(from.block_index, to.block_index);
  if (same) replace_in_roots(s, put);
  return same && s.vector == leader.vector && s.owned == leader.owned && s.loops == leader.loops &&
         known_equal(g, g.arg(to.walk, 0), g.arg(leader.owned, 0)) &&
         known_equal(g, g.arg(to.walk, 1), g.arg(leader.owned, 1));
}

}  // namespace

bool reads_only_at(const graph& g, const stage& reader, const stage& writer, node_id idx) {
  bool only = true;
  for_each_node(g, reader.body, [&](node_id n) {
    // Below a reduction over idx itself it is another one: all of its places are read at each.
    if (g.kind(n) == op::reduce) {
      const auto bound = bound_indices(g, n);
      if (std::ranges::find(bound, idx) != bound.end()) only = only && !reads(g, n, writer.define);
    }
    if (g.kind(n) != op::load || g.arg(n, 0) != writer.define) return;
    bool at = false;
    for (std::size_t d = 0; d < writer.indices.size(); ++d)
      at = at || (writer.indices[d] == idx && g.arg(n, 1 + static_cast<int>(d)) == idx);
    only = only && at;
  });
  return only;
}

bool share_walk(graph& g, const program_plan& plan, const kernel_plan& k, stage& s) {
  stage renamed = s;
  for (const int i : k.stages)
    if (plan.at(i).how != way::scan || plan.reads.reads(s.define, plan.at(i).define)) return false;
  if (!rename_scan(g, plan.at(k.stages.front()), renamed)) return false;
  if (renamed.parallel != k.parallel || renamed.task.chunk != k.task.chunk) return false;
  return s = std::move(renamed), true;
}

bool share_nest(graph& g, const program_plan& plan, const kernel_plan& k, stage& s) {
  const stage& leader = plan.at(k.stages.front());
  const node_id lanes = leader.vector == no_node ? no_node : leader.loops.back();
  if (leader.how != s.how || leader.loops.size() != s.loops.size() || leader.lanes != s.lanes ||
      leader.vector != lanes || (leader.vector == no_node) != (s.vector == no_node))
    return false;
  stage renamed = s;
  replacement put(g, proofs::kept);
  for (std::size_t d = 0; d < s.loops.size(); ++d) {
    const node_id from = s.loops[d], to = leader.loops[d];
    if (from != to && (!same_range(g, from, to) || mentions(g, s, to))) return false;
    if (from != to) put.rename(from, to);
  }
  replace_in_roots(renamed, put);
  const bool own = std::ranges::all_of(k.stages, [&](int i) {
    const stage& writer = plan.at(i);
    return writer.loops == renamed.loops &&
           std::ranges::all_of(renamed.loops, [&](node_id idx) { return reads_only_at(g, renamed, writer, idx); });
  });
  return own && (s = std::move(renamed), true);
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
