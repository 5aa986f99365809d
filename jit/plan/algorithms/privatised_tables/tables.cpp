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

// What a block of updates has at least. Its size is an expression of extents: a call of many iterations has no more
// tables than one of few.
struct least_of_block {
  double elements = 0, most_tables = 0;
  double of_result = 0;  // a table costs what updates do: elements for each of its results
  // of more tables than few_tables each has at least so many; 0: there are no more
  double few_tables = 0, of_few = 0;
};
// Ranges that data gives are taken to be as long as usual.
node_id usual_trips(const context& c, node_id idx) {
  if (is_closed(c.g, idx)) return trips_of(c.g, idx);
  return integer(c.g, std::max<std::int64_t>(1, c.known.trips(idx).typical()));
}
// Iterations of the outermost index.
node_id size_of_block(const context& c, const stage& s, node_id cut, const least_of_block& least) {
  graph& g = c.g;
  node_id each = integer(g, 1), results = integer(g, 1);  // elements of an iteration
  for (const node_id idx : bound_indices(g, s.body))
    if (idx != cut) each = make(g, op::mul, each, usual_trips(c, idx));
  for (const node_id idx : s.indices) {
    results = make(g, op::mul, results, trips_of(g, idx));
    if (idx != s.owned && !is_fixed(g, s, idx)) each = make(g, op::mul, each, trips_of(g, idx));
  }
  each = make(g, op::maximum, each, integer(g, 1));
  const auto whole = [&](double x) { return integer(g, static_cast<std::int64_t>(x)); };
  const node_id all = make(g, op::mul, trips_of(g, cut), each);
  node_id enough = make(g, op::maximum, whole(least.elements), ceil_quotient(g, all, whole(least.most_tables)));
  const auto updates = [&](double of_result) { return make(g, op::mul, results, whole(of_result)); };
  node_id few = ceil_quotient(g, all, whole(least.few_tables));
  if (least.of_few > 0) few = make(g, op::minimum, updates(least.of_few), few);
  enough = make(g, op::maximum, enough, few);
  if (least.of_result > 0) enough = make(g, op::maximum, enough, updates(least.of_result));
  if (is_constant(g, each) && g[each].attribute == 1) {
    const node_id chunk = whole(tables::chunk_of_runs);
    return make(g, op::mul, ceil_quotient(g, enough, chunk), chunk);
  }
  return ceil_quotient(g, enough, each);
}

// The same; no_node: one table serves all.
node_id block_of(const context& c, const stage& s, node_id cut) {
  const auto& [g, known, before] = c;
  index_set all = set_of(g, bound_indices(g, s.body)), others;
  for (const node_id idx : s.indices)
    if (idx != s.owned && !is_fixed(g, s, idx)) others.insert(g.ordinal(idx));
  const amount rows = known.trips(cut), results = known.trips(set_of(g, s.indices));
  const amount updated = known.trips(all) * known.trips(others);  // elements
  const bool forced = known.call().force_for_tests;
  if (forced && rows >= 2 * tables::forced_block) return integer(g, tables::forced_block);
  const bool listed = s.vector != no_node && results >= tuning::inverse_index::listed_from;
  if (forced || listed || updated < tables::from) return no_node;
  if (updated < 2 * tables::block_elements || updated < 2 * tables::cost_of_result * results) return no_node;
  return size_of_block(c, s, cut, {tables::block_elements, tables::most_tables, tables::cost_of_result,
                                   tables::few_tables, tables::updates_of_result});
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
node_id block_of_group(const context& c, const stage& s, node_id cut) {
  const auto& [g, known, before] = c;
  const amount rows = known.trips(cut), updates = known.trips(set_of(g, bound_indices(g, s.body)));
  if (known.call().force_for_tests)
    return rows >= 2 * tables::forced_block ? integer(g, tables::forced_block) : no_node;
  if (updates < tables::from || updates < 2 * tables::block_elements || rows < 2) return no_node;
  const auto results = static_cast<double>(std::max<std::int64_t>(1, g[trips_of(g, s.owned)].attribute));
  least_of_block least{tables::block_elements, tables::most_of_groups};
  least.few_tables = std::max(1.0, tables::results_of_groups / results);
  if (in_order(g, s.body)) least.of_few = tables::updates_of_sum;  // a group is a warp: more of them are to be busy
  return size_of_block(c, s, cut, least);
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
  const node_id block = group ? block_of_group(c, s, cut) : block_of(c, whole, cut);
  if (block == no_node) return false;
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
  part.reasons.push_back("privatised tables: one for each block of the " + count_text(known.trips(cut)) +
                         " iterations" + (group ? ", in shared memory" : ""));
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
