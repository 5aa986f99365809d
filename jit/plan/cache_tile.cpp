#include <sheaf/jit/plan/cache_tile.hpp>

#include <algorithm>

#include <sheaf/jit/plan/closed_bounds.hpp>
#include <sheaf/jit/plan/cost.hpp>
#include <sheaf/jit/plan/packing.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/tasks.hpp>
#include <sheaf/jit/tuning/products.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

using namespace tuning::cache_tile;

// Do the terms of two indices' iterations load the same, so that a register tile of one is as good as of the other?
bool are_alike(const graph& g, node_id reduce, node_id a, node_id b) {
  return all_nodes(g, g.arg(reduce, 0), [&](node_id n) {
    return g.kind(n) != op::load || uses(g, n, a) == uses(g, n, b);
  });
}

// The register tile is one of rows, of as many iterations.
void take_rows(const facts& known, kernel_plan& k, node_id rows) {
  if (k.tile.size() == 1 && k.tile.front().index == rows) return;
  int iterations = 1;
  for (const tiled_loop& t : k.tile) iterations *= t.iterations;
  if (known.trips(rows) < iterations) iterations = k.tile.front().iterations;
  k.tile = {{rows, iterations, {}}};
}

// What a batch does not change is packed once for all of it, over the places of all of its walks: unless each walks
// places of its own, as blocks of a long sum do.
void share_panels(graph& g, const facts& known, cache_tile_form& c) {
  c.walked = loops_of(g, c.reduce, no_node);
  c.stored = c.packed;
  std::vector<node_id> inner;
  for (const node_id idx : c.batch)
    if (std::ranges::none_of(c.packed, [&](node_id n) { return names(g, n, idx); })) inner.push_back(idx);
  if (inner.empty()) return;
  const index_set all = set_of(g, inner);
  std::vector<node_id> walked = c.walked;
  replacement put(g);
  for (node_id& walk : walked) {
    if (!g.free[g.arg(walk, 0)].meets(all) && !g.free[g.arg(walk, 1)].meets(all)) continue;
    const node_id low = closed_bounds_of(g, g.arg(walk, 0)).least, high = closed_bounds_of(g, g.arg(walk, 1)).most;
    if (low == no_node || high == no_node) return;
    const node_id whole = fresh_index(g, walk, low, high);
    if (known.trips(whole) > tuning::products::places_of_walks * known.trips(walk)) return;
    put.add(walk, whole);
    walk = whole;
  }
  for (node_id& n : c.stored) n = put(without_proofs()(g, n));
  c.walked = std::move(walked);
  std::erase_if(c.batch, [&](node_id idx) { return std::ranges::find(inner, idx) != inner.end(); });
  c.inner = std::move(inner);
}

void choose(graph& g, const facts& known, program_plan& plan, kernel_plan& k) {
  if (k.stages.size() != 1 || k.parallel == no_node || k.task.chunk != 0) return;
  stage& s = plan.at(k.stages.front());
  const bool far = has_far_lanes(g, known, s), tiled = !k.tile.empty();
  if (s.loops.size() != s.indices.size() || s.loops.back() != s.vector || (!tiled && !far)) return;
  cache_tile_form c = packed_form(g, known, s, s.vector);
  if (k.tile.size() > 1 && !far) return;
  if (c.rows != no_node && tiled && !far && k.tile.front().index != c.rows &&
      !are_alike(g, c.reduce, k.tile.front().index, c.rows))
    c = packed_form(g, s, k.tile.front().index, s.vector);
  if (c.rows == no_node || bytes_of_panel(g, c, s.lanes) > most_bytes) return;
  const double stays = std::min(tuning::products::stays, known.call().on.second_cache);
  if (!far && !packs_much(g, known, c, s.vector, stays)) return;
  if (tiled) take_rows(known, k, c.rows);
  share_panels(g, known, c);
  k.cache = std::move(c);
  share_cache_tile(k, s);
}

}  // namespace

void choose_cache_tiles(graph& g, const facts& known, program_plan& plan) {
  if (known.call().gpu) return;
  for (kernel_plan& k : plan.kernels) choose(g, known, plan, k);
}

}  // namespace sheaf::inline v0_1::plan
