#include <sheaf/jit/plan/register_tile.hpp>

#include <algorithm>
#include <optional>

#include <sheaf/jit/plan/register_tile_model.hpp>

namespace sheaf::inline v0_1::plan {

namespace register_tiles {
namespace {

class choice {
 public:
  choice(graph& g, const facts& known, program_plan& plan, kernel_plan& k)
      : g_(g), known_(known), plan_(plan), k_(k), w_(g, known, plan, k) {}

  void operator()() {
    std::vector<tiled_loop> loops = weighed_loops(no_node);
    while (!loops.empty() && !fits(loops, choose(loops)))
      ;
  }
  // The time of the best tile of its loops over that of the best one of this loop alone.
  double share_of_time(node_id loop) {
    const std::vector<tiled_loop> loops = weighed_loops(loop);
    if (loops.empty()) return 1;
    std::vector<tiled_loop> alone = loops;
    std::erase_if(alone, [&](const tiled_loop& t) { return t.index != loop; });
    const model model_of(g_, known_, w_);
    const candidate now = without_tile(model_of);
    return best_of(loops, now, model_of).time / best_of(alone, now, model_of).time;
  }

 private:
  // None: it has no tile, or only of the loop `besides`. Sizes are asked where there is something to choose.
  std::vector<tiled_loop> weighed_loops(node_id besides) {
    if (w_.reductions.empty() || !is_eligible()) return {};
    std::vector<tiled_loop> loops = loops_of_tile();
    const bool some = std::ranges::any_of(loops, [&](const tiled_loop& t) { return t.index != besides; });
    if (!some || !is_worth_code()) return {};
    w_.weigh(loops);
    most_.assign(loops.size(), most_copies);
    return loops;
  }
  const stage& at(int i) const { return plan_.at(i); }
  candidate choose(std::vector<tiled_loop> loops) const {
    const model model_of(g_, known_, w_);
    const candidate now = without_tile(model_of);
    const candidate equal = best_of(loops, now, model_of);
    for (tiled_loop& t : loops) t.equal.clear();
    candidate best = best_of(loops, now, model_of);
    if (equal.time < worth_equal * best.time) best = equal;
    return best.time > worth_it * now.time ? candidate{} : best;
  }
  candidate without_tile(const model& model_of) const {
    candidate now{.tile = {}, .lanes = lanes()};
    now.time = *model_of.time(now);
    return now;
  }
  // Takes the tile, if its loops have as many iterations. What the model chooses depends on no extent but those of
  // loops that are shorter.
  bool fits(const std::vector<tiled_loop>& loops, const candidate& c) {
    for (const tiled_loop& t : c.tile) {
      const amount trips = known_.trips(t.index);
      if (!(trips < t.iterations)) continue;
      const auto loop = std::ranges::find(loops, t.index, &tiled_loop::index) - loops.begin();
      int& most = most_[static_cast<std::size_t>(loop)];
      for (most = 1; const int size : sizes)
        if (size < t.iterations && !(trips < size)) most = size;
      return false;
    }
    if (!c.tile.empty()) take(c);
    return true;
  }
  candidate best_of(const std::vector<tiled_loop>& loops, const candidate& now, const model& model_of) const {
    candidate best = now, large = now;
    const bool chooses = may_choose_lanes();
    const int fewest = chooses ? std::min(now.lanes, least_lanes) : now.lanes;
    for (int l = chooses ? most_lanes() : now.lanes; l >= fewest; l /= 2)
      for (const int a : sizes)
        for (const int b : sizes) {
          if (a * b > most_copies || (b > 1 && loops.size() < 2)) continue;
          if (b == 1 && a > most_rows && !w_.lanes_are_results) continue;
          for (std::size_t i = 0; i < loops.size(); ++i)
            for (std::size_t j = i + 1; j < std::max(loops.size(), i + 2); ++j) {
              if ((b > 1 && j >= loops.size()) || a > most_[i] || (b > 1 && b > most_[j])) continue;
              candidate c{.tile = {}, .lanes = l};
              if (a > 1) c.tile.push_back({loops[i].index, a, loops[i].equal});
              if (b > 1) c.tile.push_back({loops[j].index, b, loops[j].equal});
              candidate& least = c.copies() > usual_copies ? large : best;
              if (const auto t = model_of.time(c); t && *t < least.time) least = c, least.time = *t;
            }
        }
    return large.time < worth_copies * best.time ? large : best;
  }
  node_id vector() const { return at(k_.stages.front()).vector; }
  int lanes() const { return at(k_.stages.front()).lanes; }

  bool is_eligible() const {
    return k_.part == 0 && std::ranges::all_of(k_.stages, [&](int i) {
             const stage& s = at(i);
             const bool walks_rows = std::ranges::find(s.loops, k_.row) != s.loops.end();
             const bool loops = (s.how == way::map || s.how == way::stencil) && !walks_rows;
             return loops && s.order_when == no_node && !s.reads_block_tree &&
                    s.folded_storage.empty() && !s.short_rows && s.where != place::check && s.sort.passes == 0 &&
                    !s.atomic;
           });
  }
  // Those that all stages have, over the same iterations of all reductions.
  std::vector<tiled_loop> loops_of_tile() const {
    std::vector<tiled_loop> list;
    const stage& first = at(k_.stages.front());
    for (const node_id idx : first.loops) {
      if (idx == first.vector || (idx == k_.parallel && k_.task.chunk != 0)) continue;
      const bool in_all = std::ranges::all_of(k_.stages, [&](int i) {
        const auto& loops = at(i).loops;
        return std::ranges::find(loops, idx) != loops.end();
      });
      const bool same = std::ranges::none_of(w_.reductions, [&](node_id n) {
        bool varies = uses(g_, g_.arg(n, 1), idx);
        for (const node_id bound : bound_indices(g_, n)) varies = varies || uses(g_, bound, idx);
        return varies;
      });
      if (!in_all || !same) continue;
      list.push_back({idx, 1, {}});
      for (const equal_rows& rows : equal_data(g_, known_, w_.reductions, idx, inside(idx)))
        list.back().equal.insert(list.back().equal.end(), rows.data.begin(), rows.data.end());
    }
    return list;
  }
  // The indices of loops within this one, of any stage.
  index_set inside(node_id idx) const {
    index_set set;
    for (const node_id n : w_.reductions) set |= set_of(g_, bound_indices(g_, n));
    for (const int i : k_.stages) {
      const auto& loops = at(i).loops;
      for (auto l = std::ranges::find(loops, idx); l != loops.end(); ++l)
        if (*l != idx) set.insert(g_.ordinal(*l));
    }
    return set;
  }
  // More or fewer lanes change no result where each is a lane.
  bool may_choose_lanes() const {
    if (vector() == no_node || !w_.lanes_are_results || known_.call().overrides.lanes != 0) return false;
    return std::ranges::all_of(k_.stages, [&](int i) {
      const bool loops = at(i).how == way::map || walks_chains(at(i));
      return loops && at(i).vector != no_node && at(i).lanes == lanes() && k_.parallel != at(i).vector;
    });
  }
  // A stencil that walks other indices too is as a map. Its masks cost nothing where they have registers of their own.
  bool walks_chains(const stage& s) const {
    const std::vector<node_id> all = reductions_in(g_, s.body);
    return s.how == way::stencil && known_.call().vectors->mask_registers &&
           std::ranges::all_of(all, [&](node_id n) { return is_chain_of_terms(g_, n); });
  }
  int most_lanes() const {
    const stage& first = at(k_.stages.front());
    if (first.how == way::map) return lanes();
    const int most = lanes_for(g_, known_, first.body, first.vector, true);
    const bool gathers = std::ranges::any_of(w_.items, [](const item& i) { return i.what == item::flow::gather; });
    return std::max(lanes(), gathers ? std::min(most, least_lanes) : most);
  }
  bool is_worth_code() const {
    index_set all;
    for (const node_id n : w_.reductions) {
      all |= g_.free[n];
      all |= set_of(g_, bound_indices(g_, n));
    }
    return known_.call().force_for_tests || known_.trips(all) >= worth_code;
  }

  void take(candidate c) {
    if (may_choose_lanes())
      for (const int i : k_.stages) plan_.at(i).lanes = c.lanes;
    k_.tile = std::move(c.tile);
  }

  graph& g_;
  const facts& known_;
  program_plan& plan_;
  kernel_plan& k_;
  work w_;
  std::vector<int> most_;  // iterations of each loop that may have a tile
};

}  // namespace
}  // namespace register_tiles

bool loses_register_tile(graph& g, const facts& known, program_plan& plan, kernel_plan alone) {
  if (known.call().gpu || plan.at(alone.stages.front()).loops.size() < 3) return false;
  return register_tiles::choice(g, known, plan, alone).share_of_time(alone.parallel) <
         tuning::register_tile::worth_apart;
}

void choose_register_tiles(graph& g, const facts& known, program_plan& plan) {
  if (known.call().gpu) return;
  for (kernel_plan& k : plan.kernels) register_tiles::choice(g, known, plan, k)();
}

}  // namespace sheaf::inline v0_1::plan
