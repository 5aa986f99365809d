#include <sheaf/jit/plan/algorithms/pair_tiles/pairs.hpp>

#include <algorithm>

#include <sheaf/jit/numerics/numerics.hpp>
#include <sheaf/jit/plan/packing.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::plan {

// Are accumulators of such values of their type?
static bool is_its_accumulator(element type) {
  return (is_floating(type) || type == element::i64) && numerics::accumulated(type) == type;
}

bool joins_tiles(const graph& g, node_id n) {
  return goes_on(g, n) && is_its_accumulator(g.type(n)) && g[n].count == 3;
}

bool joins_positions(const graph& g, node_id n) {
  return row(monoid_of(g, n)).position && is_its_accumulator(g.type(g.arg(n, 0))) && g[n].count == 3;
}

bool is_of_pair(const graph& g, node_id n, node_id rows, node_id walk) { return uses(g, n, rows) && uses(g, n, walk); }

bool may_have_tiles(const call_facts& call) { return !call.gpu && call.overrides.lanes == 0; }

bool are_many(const facts& known, node_id rows, node_id walk, const index_set& pairs) {
  if (known.call().force_for_tests) return true;
  return all_of({{known.trips(rows), tuning::pair_tiles::least_rows},
                 {known.trips(walk), numerics::pair_tiles::places},
                 {known.trips(pairs), tuning::pair_tiles::worth_code}});
}

// Made of elements as they are read: no part of it depends on one of the two indices alone, so that none is computed
// before, packed or stored, in one place and not in another.
static bool is_of_elements(const graph& g, node_id n, node_id rows, node_id walk) {
  if (g.kind(n) == op::load || g.kind(n) == op::constant) return true;
  if (!is_elementwise(g.kind(n)) || !is_of_pair(g, n, rows, walk)) return false;
  for (int k = 0; k < g[n].count; ++k)
    if (!is_of_elements(g, g.arg(n, k), rows, walk)) return false;
  return true;
}

bool may_fold_pairs(const graph& g, const facts& known, node_id n) {
  if (!may_have_tiles(known.call()) || !joins_tiles(g, n) || !is_true(g, g.arg(n, 1)) || !has_closed_ranges(g, n) ||
      !has_closed_ranges(g, g.arg(n, 2)) || is_slow(g, g.arg(n, 0)) || holds(g, g.arg(n, 0), op::reduce))
    return false;
  const std::vector<node_id> loads = loads_in(g, g.arg(n, 0)), indices = indices_of(g, g.free[n]);
  for (const node_id rows : indices)
    for (const node_id walk : indices) {
      if (rows == walk || !is_of_elements(g, g.arg(n, 0), rows, walk)) continue;
      if (std::ranges::any_of(loads, [&](node_id l) { return is_of_pair(g, l, rows, walk); })) continue;
      if (are_many(known, rows, walk, g.free[n]) && are_many(known, walk, rows, g.free[n])) return true;
    }
  return false;
}

}  // namespace sheaf::inline v0_1::plan
