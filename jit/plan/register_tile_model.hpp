// The model by which register tiles are chosen: what the loops of a kernel's reductions execute, as items, and how long
// an iteration of a tile takes. See register_tile.hpp.
#pragma once
#include <algorithm>
#include <optional>
#include <unordered_set>
#include <vector>

#include <sheaf/dsl/graph/affine.hpp>
#include <sheaf/jit/plan/algorithms/stencil/small_windows.hpp>
#include <sheaf/jit/plan/cost.hpp>
#include <sheaf/jit/plan/equal_data.hpp>
#include <sheaf/jit/plan/mixed_precision.hpp>
#include <sheaf/jit/plan/packing.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::plan::register_tiles {

using namespace tuning::register_tile;

// What the loops of reductions execute for each value of an expression. Numbers are of one iteration of the innermost
// loop, by a guess of trips that no extent enters: the choice is then the same for all extents.
struct item {
  enum class flow : std::uint8_t { vector_load, element_load, gather, arithmetic, fold, kept } what;
  index_set depends;
  index_set by_equal = {};  // of these by data alone that iterations may have equal
  index_set near = {};      // of these by an element or two, so that iterations read the same lines
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
      // Masks have registers of their own, or are gone in the middle of a loop, see partition_loops.hpp.
      if (laned && g_.type(n) != element::boolean) add_item(item::flow::kept, n, g_.free[n], lane, 1);
      return;
    }
    if (kind == op::load) {
      const bool row = laned && (far_ || goes_along(g_, known_, n, lane));
      add_item(!laned ? item::flow::element_load : row ? item::flow::vector_load : item::flow::gather, n, g_.free[n],
               lane, 1);
    } else if (kind == op::cast && laned && widens_load(n)) {
      loaded_as_[g_.arg(n, 0)] = row(g_.type(n)).bytes;
    } else if (kind == op::cast && laned && is_half(g_.type(g_.arg(n, 0)))) {
      add_item(item::flow::arithmetic, n, g_.free[n], lane, cost_of_conversion);
    } else if (is_elementwise(kind) && kind != op::cast && laned) {
      const op_cost cost = row_of(kind);
      add_item(item::flow::arithmetic, n, g_.free[n], lane,
               cost == op_cost::few ? 1 : cost == op_cost::division ? cost_of_division : cost_of_function);
    }
    if (kind == op::load) return place(n, lane);
    for (int k = 0; k < g_[n].count; ++k) walk(g_.arg(n, k), lane);
  }
  // A narrow integer that lanes need wide is extended as it is loaded: it takes the loads and registers of a wide one.
  bool widens_load(node_id cast) const {
    const node_id from = g_.arg(cast, 0);
    return g_.kind(from) == op::load && !is_floating(g_.type(from)) &&
           row(g_.type(from)).bytes < row(g_.type(cast)).bytes;
  }
  // A place is an address, in scalars, and what that is loaded from; of lanes that data names each has one.
  void place(node_id load, node_id lane) {
    for (int k = 1; k < g_[load].count; ++k) {
      const node_id at = g_.arg(load, k);
      if (lane != no_node && uses(g_, at, lane) && !split_affine(g_, at, lane).affine) {
        walk(at, lane);
        continue;
      }
      for (const node_id n : loads_in(g_, at)) walk(n, lane);
    }
  }
  static op_cost row_of(op kind) { return row(kind).cost; }
  void add_item(item::flow what, node_id n, const index_set& depends, node_id lane, double cost) {
    const bool laned = lane != no_node && (what == item::flow::fold || g_.free[n].has(g_.ordinal(lane)));
    index_set by_equal;
    for (const tiled_loop& t : loops_)
      if (!t.equal.empty() && what != item::flow::fold && depends_by_these(g_, n, t.index, t.equal))
        by_equal.insert(g_.ordinal(t.index));
    const index_set near = what == item::flow::vector_load ? near_of(n) : index_set{};
    const auto wide = loaded_as_.find(n);
    const int bytes = wide != loaded_as_.end() ? wide->second : row(lane_type(g_, n)).bytes;
    items.push_back({what, depends, by_equal, near, laned, lanes_, bytes,
                     guessed(depends.common(bound_)), cost, stages});
  }
  // The loops of which each iteration moves a row of elements by one or two.
  index_set near_of(node_id load) const {
    index_set near;
    const int last = g_[load].count - 1;
    for (const tiled_loop& t : loops_) {
      const line l = split_affine(g_, g_.arg(load, last), t.index);
      bool moves = l.affine && l.slope != 0 && l.slope >= -nearby && l.slope <= nearby;
      for (int d = 1; d < last; ++d) moves = moves && !uses(g_, g_.arg(load, d), t.index);
      if (moves) near.insert(g_.ordinal(t.index));
    }
    return near;
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
  std::unordered_map<node_id, int> loaded_as_;  // bytes of what a load is extended to
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
          streams += share * copies_of(i, c, i.near) * vectors * cycles_of_stream;
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
  // But for those that differ in `same` alone.
  double copies_of(const item& i, const candidate& c, const index_set& same = {}) const {
    double n = 1;
    for (const tiled_loop& t : c.tile) {
      const int k = g_.ordinal(t.index);
      if (i.depends.has(k) && !same.has(k) && (t.equal.empty() || !i.by_equal.has(k))) n *= t.iterations;
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

}  // namespace sheaf::inline v0_1::plan::register_tiles
