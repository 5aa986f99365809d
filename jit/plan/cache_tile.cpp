#include <sheaf/jit/plan/cache_tile.hpp>

#include <algorithm>

#include <sheaf/jit/plan/kernels.hpp>
#include <sheaf/jit/plan/mixed_precision.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

using namespace tuning::cache_tile;

// The identity, combined with what is kept of the blocks before, is that: no bit changes.
bool goes_on(const graph& g, node_id reduce) {
  const monoid fold = monoid_of(g, reduce);
  const bool known = fold == monoid::sum || fold == monoid::prod || fold == monoid::max || fold == monoid::min;
  return known && !has_narrow_lanes(g, reduce) && !keeps_several(g, reduce);
}

// A buffer keeps it as it is: halves are computed in f32, and rounded only where they are stored.
bool may_pack(const graph& g, node_id n) {
  const element type = g.type(n);
  if (type == element::boolean || g.kind(n) == op::reduce) return false;
  return g.kind(n) == op::load || numerics::accumulated(type) == type;
}

// The largest expressions that differ along both indices, and are the same for all rows.
void find_packed(const graph& g, const cache_tile_form& c, node_id lane, node_id n, std::vector<node_id>& list) {
  if (!uses(g, n, lane) || !uses(g, n, c.walk)) return;
  if (!uses(g, n, c.rows) && may_pack(g, n)) {
    if (std::find(list.begin(), list.end(), n) == list.end()) list.push_back(n);
    return;
  }
  if (g.kind(n) == op::load || g.kind(n) == op::reduce) return;
  for (int k = 0; k < g[n].count; ++k) find_packed(g, c, lane, g.arg(n, k), list);
}

void choose(graph& g, const facts& known, program_plan& plan, kernel_plan& k) {
  if (k.stages.size() != 1 || k.tile.size() != 1 || k.tile.front().index != k.parallel) return;
  const stage& s = plan.stages[static_cast<std::size_t>(k.stages.front())];
  const std::vector<node_id> reductions = reductions_in(g, s.body);
  const bool rows_and_lanes = s.loops.size() == 2 && s.loops.front() == k.parallel && s.loops.back() == s.vector;
  if (s.how != way::map || !rows_and_lanes || reductions.size() != 1) return;
  cache_tile_form c{.rows = k.parallel, .reduce = reductions.front()};
  if (g[c.reduce].count != 3 || !goes_on(g, c.reduce) || !is_true(g, g.arg(c.reduce, 1))) return;
  c.walk = g.arg(c.reduce, 2);
  if (!has_closed_ranges(g, c.walk) || uses(g, c.walk, c.rows) || uses(g, c.walk, s.vector)) return;
  find_packed(g, c, s.vector, g.arg(c.reduce, 0), c.packed);
  if (c.packed.empty()) return;
  amount bytes = 0;
  std::int64_t panel = 0;
  for (const node_id n : c.packed) {
    bytes += known.trips(c.walk) * known.trips(s.vector) * row(g.type(n)).bytes;
    panel += block * s.lanes * row(g.type(n)).bytes;
  }
  if (panel > most_bytes || known.trips(c.rows) < least_rows || bytes <= known.call().on.second_cache) return;
  c.block = block;
  k.rows_of_task = rows_of_task;
  k.cache = std::move(c);
  k.cost = cost_of_task(known, plan, k);
}

}  // namespace

void choose_cache_tiles(graph& g, const facts& known, program_plan& plan) {
  for (kernel_plan& k : plan.kernels) choose(g, known, plan, k);
}

}  // namespace sheaf::inline v0_1::plan
