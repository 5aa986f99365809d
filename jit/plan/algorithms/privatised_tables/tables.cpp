#include <sheaf/jit/plan/algorithms/privatised_tables/tables.hpp>

#include <algorithm>

#include <sheaf/jit/numerics/numerics.hpp>
#include <sheaf/jit/plan/algorithms/inverse_index/inverse_index.hpp>
#include <sheaf/jit/plan/algorithms/scatter/scatters.hpp>
#include <sheaf/jit/plan/bounds.hpp>
#include <sheaf/jit/plan/cost.hpp>
#include <sheaf/jit/plan/partial_results.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/schedule.hpp>
#include <sheaf/jit/plan/stages.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

namespace tables = numerics::tables;
using tuning::privatised_tables::seldom_from;

// Iterations of the outermost index that make a block; 0: one table serves all.
std::int64_t block_of(const context& c, const stage& s, node_id cut) {
  const auto& [g, known, before] = c;
  index_set all = set_of(g, bound_indices(g, s.body)), others;
  for (const node_id idx : s.indices)
    if (idx != s.owned && !is_fixed(g, s, idx)) others.insert(g.ordinal(idx));
  const amount rows = known.trips(cut), results = known.trips(set_of(g, s.indices));
  const amount updated = known.trips(all) * known.trips(others);  // elements
  const bool forced = known.call().force_for_tests;
  if (forced && rows >= 2 * tables::forced_block) return tables::forced_block;
  const bool listed = s.vector != no_node && results >= tuning::inverse_index::listed_from;
  if (forced || listed || updated < tables::from) return 0;
  std::int64_t block = 1;
  const auto is_enough = [&] {
    return all_of({{tables::most_tables * block, rows},
                   {updated * block, tables::block_elements * rows},
                   {updated * block, results * tables::cost_of_result * rows}});
  };
  while (!is_enough()) block *= 2;
  return rows >= 2 * block ? block : 0;
}

bool in_order(const graph& g, node_id n) { return is_floating(g.type(n)) || monoid_of(g, n) != monoid::sum; }

// On a GPU a group has its table in shared memory, which its lanes update: integers in any order, floating numbers and
// extrema in the order of lanes. What they read lies inside, whatever guards it.
bool may_share_table(const context& c, const stage& s, const std::vector<node_id>& walk) {
  const auto& [g, known, before] = c;
  const node_id n = s.body, rows = trips_of(g, s.owned), inner = walk.back();
  const element type = g.type(n);
  const bool has_table = type == element::i64 || type == element::f32 || type == element::f64;
  const monoid fold = monoid_of(g, n);
  if ((fold != monoid::sum && fold != monoid::max && fold != monoid::min) || !has_table || g.type(s.define) != type)
    return false;
  const bool wide = row(type).bytes == 8 && in_order(g, n);
  const std::int64_t most = wide ? tables::shared_rows / 2 : tables::shared_rows;
  if (s.indices.size() != 1 || g.kind(rows) != op::constant || g[rows].attribute > most) return false;
  if (!std::ranges::all_of(walk, [&](node_id idx) { return is_closed(g, idx); })) return false;
  if (!is_safe(g, g.arg(n, 0)) || !is_safe(g, g.arg(n, 1))) return false;
  const node_id at = rows_of(g, s).at;
  return at != no_node && g.free[at].has(g.ordinal(inner)) && may_vectorise(g, n, inner);
}
std::int64_t block_of_group(const context& c, const stage& s, node_id cut) {
  const auto& [g, known, before] = c;
  const amount rows = known.trips(cut), results = known.trips(s.owned);
  const amount updates = known.trips(set_of(g, bound_indices(g, s.body)));
  if (known.call().force_for_tests) return rows >= 2 * tables::forced_block ? tables::forced_block : 0;
  if (updates < tables::from) return 0;
  std::int64_t block = 1;
  amount room = tables::results_of_groups;  // of what goes in order a group is a warp: more of them are to be busy
  if (in_order(g, s.body)) room = max(room, updates / tables::updates_of_sum);
  const auto is_enough = [&] {
    return all_of({{tables::most_of_groups * block, rows},
                   {room * block, rows * results},
                   {updates * block, tables::block_elements * rows}});
  };
  while (!is_enough() && rows >= 2 * block) block *= 2;
  return rows >= 2 * block ? block : 0;
}

// Of many tables some are joined first, by as many tasks.
node_id joined_in_blocks(const context& c, const stage& s, node_id use, node_id block) {
  const auto& [g, known, before] = c;
  const monoid fold = monoid_of(g, s.body);
  const element type = numerics::joined(fold, g.type(use));
  const auto sum = [&](node_id of, node_id over) {
    return intern_reduce(g, fold, type, cast_to(g, type, of), truth(g, true), {over});
  };
  const node_id all = sum(use, block);
  if (known.trips(block) < 2 * tables::joined_at_once) return cast_to(g, g.type(use), all);
  const row_blocks rows = blocks_of(g, all, block, tables::joined_at_once);
  const node_id some = sum(with(g, use, block, rows.part, proofs::kept), rows.part);
  stage like = s;
  like.vector = s.owned;
  const node_id joined = stored(c, some, {"joined", like, "tables of groups, some at a time"});
  return cast_to(g, g.type(use), sum(joined, rows.block));
}

}  // namespace

bool take_tables(const context& of_call, stage& s) {
  const context c{of_call.g, of_call.known.bits(), of_call.before};
  const auto& [g, known, before] = c;
  if (s.how != way::scatter || s.made == origin::partial || s.when != no_node) return false;
  if (known.call().overrides.scatters == scatters::atomic) return false;
  stage whole = s;  // as it would run; so far its loops are those of a map
  schedule(g, known, whole);
  if (whole.parallel != s.owned) return false;
  if (known.call().force_for_tests && whole.vector != no_node) return false;  // an inverse index is tested there
  const node_id n = s.body;
  const std::vector<node_id> walk = nesting_order(g, bound_indices(g, n));
  const node_id cut = walk.front();
  if (!is_closed(g, cut)) return false;
  const bool group = known.for_groups();
  if (group && !may_share_table(c, s, walk)) return false;
  const std::int64_t block = group ? block_of_group(c, s, cut) : block_of(c, whole, cut);
  if (block == 0) return false;
  const row_blocks rows = blocks_of(g, n, cut, block);
  replacement put(g, proofs::kept);
  put.add(cut, rows.part);
  std::vector<node_id> bound = bound_indices(g, n);
  for (node_id& idx : bound) idx = put(idx);
  const element type = g.type(n);
  stage part;
  part.body = intern_reduce(g, monoid_of(g, n), type, put(g.arg(n, 0)), put(g.arg(n, 1)), bound);
  part.indices = s.indices;
  part.indices.insert(part.indices.begin(), rows.block);
  part.made = origin::partial;
  part.rows = rows;
  part.group_table = group;
  part.seldom_changes = known.trips(rows.part) >= seldom_from * known.trips(set_of(g, s.indices));
  part.reasons.push_back("privatised tables: one for each " + std::to_string(block) + " of " +
                         count_text(known.trips(cut)) + " iterations" + (group ? ", in shared memory" : ""));
  const auto same = std::ranges::find_if(before, [&](const stage& o) {
    return o.made == origin::partial && o.body == part.body && o.indices == part.indices;
  });
  node_id use = no_node;
  if (same != before.end()) {
    use = result_of(g, *same);
  } else {
    define_stage(g, part, "table");
    use = result_of(g, part);
    before.push_back(std::move(part));
  }
  const element wider = numerics::joined(monoid_of(g, n), type);
  s.body = group ? joined_in_blocks(c, s, use, rows.block)
                 : cast_to(g, type, intern_reduce(g, monoid_of(g, n), wider, cast_to(g, wider, use), truth(g, true),
                                                  {rows.block}));
  s.how = way::map;
  s.owned = no_node;
  return true;
}

}  // namespace sheaf::inline v0_1::plan
