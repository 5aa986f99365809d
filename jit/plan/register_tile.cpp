#include <sheaf/jit/plan/register_tile.hpp>

#include <algorithm>
#include <optional>

#include <sheaf/dsl/graph/affine.hpp>
#include <sheaf/jit/plan/algorithms/stencil/small_windows.hpp>
#include <sheaf/jit/plan/packing.hpp>
#include <sheaf/jit/plan/cost.hpp>
#include <sheaf/jit/plan/equal_data.hpp>
#include <sheaf/jit/plan/mixed_precision.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

using namespace tuning::register_tile;

// What the loops of reductions execute for each value of an expression. Numbers are of one iteration of the innermost
// loop, by a guess of trips that no extent enters: the choice is then the same for all extents.
struct item {
  enum class flow : std::uint8_t { vector_load, element_load, gather, arithmetic, fold, kept } what;
  index_set depends;
  index_set by_equal = {};  // of these by data alone that iterations may have equal
  bool laned = false;
  int lanes = 1;  // of its reduction
  int bytes = 4;
  double weight = 1, cost = 1;
  std::size_t stage = 0;  // whose reductions share the registers
  double chain = 1;       // fold: terms of an iteration, each added to what those before come to
};

// The work of a kernel's reductions, as items.
class work {
 public:
  work(graph& g, const facts& known, const program_plan& plan, const kernel_plan& k)
      : g_(g), known_(known), plan_(plan), k_(k) {
    for (const int i : k.stages)
      for (const node_id n : reductions_in(g, plan.at(i).body)) reductions.push_back(n);
  }
  // What asks sizes, once there is a loop to tile.
  void weigh(const std::vector<tiled_loop>& loops) {
    loops_ = loops;
    for (const int i : k_.stages) add(plan_.at(i));
  }

  std::vector<item> items;
  std::vector<node_id> reductions;
  bool lanes_are_results = true;  // of each reduction
  std::size_t stages = 0;

 private:
  void add(const stage& s) {
    far_ = has_far_lanes(g_, known_, s);
    for (const node_id n : reductions_in(g_, s.body)) bound_ |= set_of(g_, bound_indices(g_, n));
    for (const node_id n : reductions_in(g_, s.body)) reduction(s, n);
    ++stages;
  }
  double guessed(const index_set& set) const {
    double trips = 1;
    for (const node_id idx : indices_of(g_, set)) {
      const bool fixed = is_constant(g_, g_.arg(idx, 0)) && is_constant(g_, g_.arg(idx, 1));
      const auto n = fixed ? g_[g_.arg(idx, 1)].attribute - g_[g_.arg(idx, 0)].attribute : usual_trips;
      trips *= static_cast<double>(std::max<std::int64_t>(1, n));
    }
    return trips;
  }
  node_id lane_of_items(const stage& s, node_id reduce) {
    lanes_ = s.lanes;
    if (s.vector != no_node && g_.free[reduce].has(g_.ordinal(s.vector))) return s.vector;
    lanes_are_results = false;
    const node_id lane = lane_of(g_, known_, reduce);
    lanes_ = lane == no_node ? 1 : lanes_for(g_, known_, reduce, lane, false);
    return lane;
  }

  void reduction(const stage& s, node_id n) {
    const node_id lane = lane_of_items(s, n);
    index_set inside = g_.free[g_.arg(n, 0)];
    inside |= set_of(g_, bound_indices(g_, n));
    const bool fused = g_.kind(g_.arg(n, 0)) == op::mul && is_floating(g_.type(n));
    add_item(item::flow::fold, n, inside, lane, fused || is_chain_of_terms(g_, n) ? 0 : 1);
    if (is_chain_of_terms(g_, n)) return chain(n, lane);
    for (int k = 0; k < 2; ++k) walk(g_.arg(n, k), lane);
  }
  // Terms are added as they are multiplied, and what decides whether there is one masks that.
  void chain(node_id n, node_id lane) {
    const std::vector<node_id> terms = chain_of(g_, n);
    items.back().chain = static_cast<double>(terms.size());
    for (const node_id term : terms) {
      const bool chosen = g_.kind(term) == op::select;
      if (chosen) walk(g_.arg(term, 0), lane);
      walk(chosen ? g_.arg(term, 1) : term, lane);
    }
  }
  void walk(node_id n, node_id lane) {
    const op kind = g_.kind(n);
    if (kind == op::reduce || kind == op::extent || kind == op::define || kind == op::index) return;
    if (!seen_.insert(n).second) return;
    const bool varies = g_.free[n].meets(bound_);
    const bool laned = lane != no_node && g_.free[n].has(g_.ordinal(lane));
    if (!varies) {
      const bool in_mask_register = g_.type(n) == element::boolean && known_.call().vectors->mask_registers;
      if (laned && !in_mask_register) add_item(item::flow::kept, n, g_.free[n], lane, 1);
      return;
    }
    if (kind == op::load) {
      const bool row = laned && (far_ || goes_along(g_, known_, n, lane));
      add_item(!laned ? item::flow::element_load : row ? item::flow::vector_load : item::flow::gather, n, g_.free[n],
               lane, 1);
    } else if (kind == op::cast && laned && is_half(g_.type(g_.arg(n, 0)))) {
      add_item(item::flow::arithmetic, n, g_.free[n], lane, cost_of_conversion);
    } else if (is_elementwise(kind) && kind != op::cast && laned) {
      const op_cost cost = row_of(kind);
      add_item(item::flow::arithmetic, n, g_.free[n], lane,
               cost == op_cost::few ? 1 : cost == op_cost::division ? cost_of_division : cost_of_function);
    }
    for (int k = kind == op::load ? 1 : 0; k < g_[n].count; ++k) walk(g_.arg(n, k), lane);
  }
  static op_cost row_of(op kind) { return row(kind).cost; }
  void add_item(item::flow what, node_id n, const index_set& depends, node_id lane, double cost) {
    const bool laned = lane != no_node && (what == item::flow::fold || g_.free[n].has(g_.ordinal(lane)));
    index_set by_equal;
    for (const tiled_loop& t : loops_)
      if (!t.equal.empty() && what != item::flow::fold && depends_by_these(g_, n, t.index, t.equal))
        by_equal.insert(g_.ordinal(t.index));
    items.push_back({what, depends, by_equal, laned, lanes_, row(lane_type(g_, n)).bytes,
                     guessed(depends.common(bound_)), cost, stages});
  }

  graph& g_;
  const facts& known_;
  const program_plan& plan_;
  const kernel_plan& k_;
  index_set bound_;
  std::vector<tiled_loop> loops_;
  int lanes_ = 1;
  bool far_ = false;  // a cache tile packs the lanes of the stage at hand
  std::unordered_set<node_id> seen_;
};

struct candidate {
  std::vector<tiled_loop> tile;
  int lanes = 1;
  double time = 0;
  int copies() const {
    int n = 1;
    for (const tiled_loop& t : tile) n *= t.iterations;
    return n;
  }
};

class model {
 public:
  model(graph& g, const facts& known, const work& w) : g_(g), known_(known), w_(w) {}

  // Of one result's share of an iteration, in cycles; nothing where registers do not hold the tile.
  std::optional<double> time(const candidate& c) const {
    double loads = 0, streams = 0, arithmetic = 0, latency = 0, heaviest = 0;
    for (const item& i : w_.items) heaviest = std::max(heaviest, i.weight);
    for (const item& i : w_.items) {
      const double copies = copies_of(i, c), vectors = vectors_of(i, c), share = i.weight / heaviest;
      switch (i.what) {
        case item::flow::vector_load:
          loads += share * copies * vectors;
          streams += share * copies * vectors * cycles_of_stream;
          break;
        case item::flow::element_load:
          loads += share * copies;
          streams += share * copies * part_of_line;
          break;
        case item::flow::gather:
          loads += share * copies * (i.laned ? lanes_of(i, c) : 1);
          break;
        case item::flow::arithmetic:
          arithmetic += share * copies * vectors * i.cost;
          break;
        case item::flow::fold:
          arithmetic += share * copies * vectors * std::max(i.cost, 1.0);
          latency = std::max(latency, share * i.chain * cycles_of_addition);
          break;
        case item::flow::kept:
          break;
      }
    }
    if (c.copies() > 1 && registers(c) > known_.call().vectors->registers) return std::nullopt;
    const double flows[] = {loads / loads_a_cycle, streams, arithmetic / operations_a_cycle, latency};
    double most = 0, all = 0;
    for (const double f : flows) most = std::max(most, f), all += f;
    return (most + beside * all) / (c.copies() * (w_.lanes_are_results ? c.lanes : 1));
  }

 private:
  // That the reductions of a stage have at a time, of the stage that has most.
  double registers(const candidate& c) const {
    double most = 0;
    for (std::size_t s = 0; s < w_.stages; ++s) {
      double kept = 1, passing = 0;
      for (const item& i : w_.items) {
        if (i.stage != s) continue;
        const double copies = copies_of(i, c), vectors = vectors_of(i, c);
        const bool shared = i.what == item::flow::vector_load && copies < c.copies();
        if (i.what == item::flow::fold || i.what == item::flow::kept || shared)
          kept += copies * vectors;
        else if (i.what != item::flow::arithmetic)
          passing = std::max(passing, vectors);
        else if (i.cost >= cost_of_function)
          passing = std::max(passing, registers_of_function * vectors);
      }
      most = std::max(most, kept + passing);
    }
    return most;
  }
  double copies_of(const item& i, const candidate& c) const {
    double n = 1;
    for (const tiled_loop& t : c.tile) {
      const int k = g_.ordinal(t.index);
      if (i.depends.has(k) && (t.equal.empty() || !i.by_equal.has(k))) n *= t.iterations;
    }
    return n;
  }
  double vectors_of(const item& i, const candidate& c) const {
    const double bytes = static_cast<double>(lanes_of(i, c)) * i.bytes;
    return i.laned ? std::max(1.0, bytes / known_.call().vectors->register_bytes) : 1;
  }
  int lanes_of(const item& i, const candidate& c) const { return w_.lanes_are_results ? c.lanes : i.lanes; }

  graph& g_;
  const facts& known_;
  const work& w_;
};

class choice {
 public:
  choice(graph& g, const facts& known, program_plan& plan, kernel_plan& k)
      : g_(g), known_(known), plan_(plan), k_(k), w_(g, known, plan, k) {}

  void operator()() {
    if (w_.reductions.empty() || !is_eligible()) return;
    std::vector<tiled_loop> loops = loops_of_tile();
    if (loops.empty() || !is_worth_code()) return;
    w_.weigh(loops);
    const model model_of(g_, known_, w_);
    candidate now{.tile = {}, .lanes = lanes()};
    now.time = *model_of.time(now);
    const candidate equal = best_of(loops, now, model_of);
    for (tiled_loop& t : loops) t.equal.clear();
    candidate best = best_of(loops, now, model_of);
    if (equal.time < worth_equal * best.time) best = equal;
    if (best.tile.empty() || best.time > worth_it * now.time) return;
    take(best);
  }

 private:
  const stage& at(int i) const { return plan_.at(i); }
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
              if (b > 1 && j >= loops.size()) continue;
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
    return k_.part == 0 && k_.row == no_node && std::ranges::all_of(k_.stages, [&](int i) {
             const stage& s = at(i);
             const bool loops = s.how == way::map || s.how == way::stencil;
             return loops && s.rows.whole == no_node && s.order_when == no_node && !s.reads_block_tree &&
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
      return loops && at(i).vector == vector() && at(i).lanes == lanes() && k_.parallel != vector();
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
    for (tiled_loop& t : c.tile)
      while (t.iterations > 1 && known_.trips(t.index) < t.iterations) t.iterations /= 2;
    std::erase_if(c.tile, [](const tiled_loop& t) { return t.iterations == 1; });
    if (may_choose_lanes())
      for (const int i : k_.stages) plan_.at(i).lanes = c.lanes;
    k_.tile = std::move(c.tile);
  }

  graph& g_;
  const facts& known_;
  program_plan& plan_;
  kernel_plan& k_;
  work w_;
};

}  // namespace

void choose_register_tiles(graph& g, const facts& known, program_plan& plan) {
  if (known.call().gpu) return;
  for (kernel_plan& k : plan.kernels) choice(g, known, plan, k)();
}

}  // namespace sheaf::inline v0_1::plan
