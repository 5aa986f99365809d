#include <sheaf/jit/plan/cache_tile.hpp>

#include <algorithm>

#include <sheaf/jit/plan/packing.hpp>
#include <sheaf/jit/tuning/products.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

using namespace tuning::cache_tile;

void choose(graph& g, const facts& known, program_plan& plan, kernel_plan& k) {
  if (k.stages.size() != 1 || k.parallel == no_node || k.task.chunk != 0) return;
  const stage& s = plan.at(k.stages.front());
  const bool far = has_far_lanes(g, known, s), tiled = k.tile.size() == 1 && k.tile.front().index == k.parallel;
  const bool rows_and_lanes = s.loops.size() == 2 && s.loops.front() == k.parallel && s.loops.back() == s.vector;
  if (!rows_and_lanes || (!tiled && !far)) return;
  cache_tile_form c = packed_form(g, s, k.parallel, s.vector);
  if (c.rows == no_node || bytes_of_panel(g, c, s.lanes) > most_bytes) return;
  const double stays = std::min(tuning::products::stays, known.call().on.second_cache);
  if (!far && !packs_much(g, known, c, s.vector, stays)) return;
  k.cache = std::move(c);
}

}  // namespace

void choose_cache_tiles(graph& g, const facts& known, program_plan& plan) {
  if (known.call().gpu) return;
  for (kernel_plan& k : plan.kernels) choose(g, known, plan, k);
}

}  // namespace sheaf::inline v0_1::plan
