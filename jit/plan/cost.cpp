#include <sheaf/jit/plan/cost.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>
#include <utility>

#include <sheaf/dsl/graph/affine.hpp>
#include <sheaf/jit/numerics/numerics.hpp>
#include <sheaf/jit/plan/mixed_precision.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

namespace weights = numerics::weights;
namespace budget = numerics::lanes;
using weights::share_of_lane;

enum class meeting : std::uint8_t { uniform, contiguous, strided, scattered };

// How one load meets lanes of an index. Strided: along the dimension where elements lie closest.
meeting meeting_of(graph& g, const facts& known, node_id load, node_id lane) {
  if (!g.free[load].has(g.ordinal(lane))) return meeting::uniform;
  const int last = g[load].count - 1;
  for (int d = 1; d < last; ++d)
    if (g.free[g.arg(load, d)].has(g.ordinal(lane))) return meeting::scattered;
  const line l = split_affine(g, g.arg(load, last), lane);
  if (!l.affine || l.slope > 8 || l.slope < -8) return meeting::scattered;
  return l.slope == 1 && unit_strides{known}(g.arg(load, 0)) ? meeting::contiguous : meeting::strided;
}

// A subscript of slope 1 that is moved inside, as clamped, reflected and wrapped ones are: but at the edges, which pass
// `partition loops` takes off, its lanes are neighbours, and a long loop is mostly middle.
bool is_moved_line(graph& g, node_id e, node_id lane) {
  if (!is_elementwise(g.kind(e)) || g[e].count != 2) return e == lane;
  const line l = split_affine(g, e, lane);
  if (l.affine) return l.slope == 1;
  const op kind = g.kind(e);
  const node_id a = g.arg(e, 0), b = g.arg(e, 1);
  if (kind == op::remainder) return !g.free[b].has(g.ordinal(lane)) && is_moved_line(g, a, lane);
  if (kind != op::minimum && kind != op::maximum) return false;
  return is_moved_line(g, a, lane) || is_moved_line(g, b, lane);
}
bool is_mostly_contiguous(graph& g, const facts& known, node_id load, node_id lane) {
  const int last = g[load].count - 1;
  for (int d = 1; d < last; ++d)
    if (g.free[g.arg(load, d)].has(g.ordinal(lane))) return false;
  return !known.for_groups() && known.trips(lane) >= tuning::partition::least_vectors * budget::most &&
         is_moved_line(g, g.arg(load, last), lane) && unit_strides{known}(g.arg(load, 0));
}

// What reductions cost that are placed outside of the lanes around them, whichever these are: each is tried with every
// lane of its own, and so are those within it, which without this would be walked once for each choice around them.
struct scan_cost {
  node_id lane;
  amount repeats;
  index_set counted;
  amount total;
};
using scan_costs = std::unordered_map<node_id, std::vector<scan_cost>>;

class cost_walk {
 public:
  // counted: the indices that the first repeats are a product of.
  cost_walk(graph& g, const facts& known, node_id root, node_id lane, const index_set& counted, scan_costs& costs)
      : g_(g), known_(known), lane_(lane), counted_(counted), costs_(costs), seen_(root) {}

  void operator()(node_id n, const amount& repeats) {
    const double outside = std::exchange(weight_, 0);
    walk(n, repeats);
    if (weight_ != 0) total += repeats * weight_;
    weight_ = outside;
  }

  amount total = 0;

 private:
  void walk(node_id n, const amount& repeats) {
    if (!seen_.insert(n)) return;
    const bool laned = lane_ != no_node && g_.free[n].has(g_.ordinal(lane_));
    if (g_.kind(n) == op::reduce) return reduction(n, laned, repeats);
    if (g_.kind(n) == op::load) {
      meeting how = laned ? meeting_of(g_, known_, n, lane_) : meeting::uniform;
      if (how == meeting::scattered && is_mostly_contiguous(g_, known_, n, lane_)) how = meeting::contiguous;
      const bool alone = lane_ == no_node || how == meeting::scattered;
      weight_ += weights::load * (alone ? 1 : how == meeting::strided ? weights::strided : share_of_lane);
    } else if (is_elementwise(g_.kind(n)) && is_floating(g_.type(n))) {
      weight_ += weights::arithmetic * (lane_ == no_node ? 1 : share_of_lane);
    }
    for (int k = g_.kind(n) == op::load ? 1 : 0; k < g_[n].count; ++k)
      if (g_.kind(n) != op::extent && g_.kind(n) != op::define) walk(g_.arg(n, k), repeats);
  }

  void reduction(node_id n, bool laned, const amount& repeats) {
    for (const node_id other : states_)  // another value of a state that is folded once
      if (same_state(g_, other, n)) return;
    if (folds_tuple(g_, n)) states_.push_back(n);
    index_set bound = set_of(g_, bound_indices(g_, n));
    const amount inner = known_.trips(bound);
    // Runs as often as what it depends on: where its place in the nest repeats it, it is stored before.
    const amount own = !laned || has_closed_ranges(g_, n) ? min(repeats, values_of(n)) : repeats;
    const index_set outside = counted_;
    counted_ |= bound;
    if (laned) {
      for (int k = 0; k < 2; ++k) (*this)(g_.arg(n, k), own * inner);
      counted_ = outside;
      return;
    }
    // Placed outside the lanes, with lanes of its own.
    node_id best = no_node;
    amount least = scan(n, no_node, own * inner);
    for (const node_id idx : bound_indices(g_, n)) {
      if (is_folded_in_order(g_, n) || !may_vectorise(g_, n, idx)) continue;
      const amount cost = scan(n, idx, own * inner);
      if (cost <= least) {
        least = cost;
        best = idx;
      }
    }
    chosen = best;
    total += least;
    counted_ = outside;
  }
  amount values_of(node_id n) const {
    amount values = 1;
    for (int o = 0; o < g_.indices.size(); ++o)
      if (g_.free[n].has(o) && counted_.has(o)) values *= known_.trips(g_.indices[o]);
    return values;
  }
  amount scan(node_id n, node_id lane, const amount& repeats) {
    index_set met = g_.free[g_.arg(n, 0)];  // of those around, what is counted within
    met |= g_.free[g_.arg(n, 1)];
    const index_set counted = counted_.common(met);
    for (const scan_cost& c : costs_[n])
      if (c.lane == lane && c.repeats.is(repeats) && c.counted == counted) return c.total;
    cost_walk inner(g_, known_, n, lane, counted, costs_);
    inner(g_.arg(n, 0), repeats);
    inner(g_.arg(n, 1), repeats);
    costs_[n].push_back({lane, repeats, counted, inner.total});
    return inner.total;
  }

  graph& g_;
  const facts& known_;
  node_id lane_;
  index_set counted_;
  scan_costs& costs_;
  double weight_ = 0;  // of what runs as often as what is walked
  nodes_met seen_;
  std::vector<node_id> states_;  // of tuples, those met

 public:
  node_id chosen = no_node;
};

}  // namespace

bool unit_strides::operator()(node_id tensor) const {
  const graph& g = known.g();
  if (g.kind(tensor) == op::define) return true;  // outputs and workspaces; a strided output is only written
  const auto input = static_cast<std::size_t>(g[tensor].attribute);
  return input >= known.call().inputs.size() || known.call().inputs[input].unit_inner;
}

bool gathers_at(graph& g, const facts& known, node_id load, node_id lane) {
  const auto how = meeting_of(g, known, load, lane);
  return how == meeting::scattered || how == meeting::strided;
}

bool goes_along(graph& g, const facts& known, node_id load, node_id idx) {
  return meeting_of(g, known, load, idx) == meeting::contiguous;
}

bool may_vectorise(const graph& g, node_id root, node_id lane) {
  return !any_node(g, root, [&](node_id n) { return g.kind(n) == op::index && n != lane && uses(g, n, lane); });
}

amount cost_of(graph& g, const facts& known, node_id root, node_id lane, const amount& repeats) {
  scan_costs costs;
  cost_walk walk(g, known, root, lane, g.free[root], costs);
  walk(root, repeats);
  return walk.total;
}

node_id lane_of(graph& g, const facts& known, node_id reduce) {
  scan_costs costs;
  cost_walk walk(g, known.bits(), reduce, no_node, {}, costs);
  walk(reduce, 1);
  return walk.chosen;
}

namespace {
// Of a short row what is left after whole groups of lanes is a large part of it: narrower ones leave less. `narrow`: of
// positions, which are folded in fewer steps, and of rows whose ends move.
int most_of_short_row(const amount& trips, bool narrow) {
  if (!(trips < budget::eight_registers)) return budget::most;
  if (narrow) return budget::one_register;
  if (trips < budget::four_registers) return trips > budget::two_registers ? budget::one_register : budget::most;
  return trips > budget::four_registers ? budget::two_registers : budget::most;
}
}  // namespace

namespace {

// The first place where a condition holds, as checks look for it: as it seldom does, there is little but the condition.
bool looks_for_places(const graph& g, node_id root) {
  return g.kind(root) == op::reduce && monoid_of(g, root) == monoid::min && g.type(root) == element::i64 &&
         is_formula(g, g.arg(root, 0));
}

}  // namespace

int lanes_for(const graph& g, const facts& known, node_id root, node_id lane, bool reductions_inside, bool alone) {
  if (known.call().overrides.lanes != 0) return known.call().overrides.lanes;
  const bool heavy = any_node(g, root, [&](node_id n) { return is_function(g, n); });
  bool positions = false;
  int bytes = 1, folds = 0, narrowest = 8;
  for_each_node(g, root, [&](node_id n) {
    const op kind = g.kind(n);
    if (kind != op::load && kind != op::reduce) return;
    // Names of rows and counts take no lanes, so the rows they are for may be walked once in wide ones.
    if (n != root && !g.free[n].has(g.ordinal(lane))) return;
    bytes = std::max(bytes, row(lane_type(g, n)).bytes);
    if (kind == op::load) narrowest = std::min(narrowest, row(g.type(n)).bytes);
    // What sums sums is out of the registers while those run.
    if (kind == op::reduce && g.kind(g.arg(n, 0)) != op::reduce) ++folds;
    if (kind == op::reduce && row(monoid_of(g, n)).position) bytes = 8, positions = true;
  });
  int most = std::max(budget::least_of_most, (heavy ? budget::bytes_of_functions : budget::bytes) / bytes);
  // Several loads a thread are under way, or of halves one of 16 bytes.
  if (known.for_groups()) {
    const bool few = holds(g, root, op::reduce) && known.trips(lane) >= budget::gpu_long_row;  // rows at a time
    most = heavy && narrowest > 2 && !few ? budget::gpu_of_functions : budget::most;
  }
  // a tile of a row stays in registers
  if (reductions_inside)
    most = std::max(budget::least_of_most, (folds > 1 || heavy ? budget::row_bytes_shared : budget::row_bytes) / bytes);
  most = std::min(most, looks_for_places(g, root) && !known.for_groups() ? budget::least_of_most : budget::most);
  if (g.kind(root) == op::reduce) alone = g.free[root].empty() && g[root].count == 3;
  if (alone && !known.for_groups()) return most;
  const amount trips = known.bits().trips(lane);
  if (!known.for_groups() && !reductions_inside)
    most = std::min(most, most_of_short_row(trips, positions || !is_closed(g, lane)));
  int lanes = budget::least;
  while (lanes < most && lanes < trips) lanes *= 2;
  return lanes;
}

std::int64_t work_of(const graph& g, node_id n) {
  std::int64_t work = 0;
  for_each_node(g, n, [&](node_id e) {
    work += g.kind(e) == op::load || (is_elementwise(g.kind(e)) && is_floating(g.type(e)));
  });
  return work;
}

namespace {

// Where one index goes along the dimensions of what is loaded.
class way_of_index {
 public:
  way_of_index(const graph& g, node_id idx) : g_(g), idx_(idx) {}

  // The outermost dimension that it walks, of all loads of terms and condition, from the last one, and how far apart
  // its places are there. Places that data names are anywhere.
  std::pair<int, double> outermost(node_id reduce) {
    std::pair<int, double> found{-1, 0};
    const auto look = [&](node_id n) {
      if (g_.kind(n) != op::load) return;
      const int rank = g_[n].count - 1;
      for (int d = 0; d < rank; ++d)
        if (const along a = of(g_.arg(n, 1 + d)); a.named) found = std::max(found, {rank - 1 - d, std::abs(a.slope)});
    };
    for (const int k : {0, 1}) for_each_node(g_, g_.arg(reduce, k), look);
    return found;
  }

 private:
  // Is it named by an expression itself, and not only by data that this reads; and as which multiple, 0: as none.
  struct along {
    bool named = false;
    double slope = 0;
  };
  along of(node_id e) {
    const op kind = g_.kind(e);
    if (e == idx_) return {true, 1};
    if (kind == op::load || !g_.free[e].has(g_.ordinal(idx_))) return {};
    if (const auto known = known_.find(e); known != known_.end()) return known->second;
    along all;
    std::array<double, 3> slopes{};
    for (int k = 0; k < g_[e].count; ++k) {
      const along one = of(g_.arg(e, k));
      all.named = all.named || one.named;
      if (k < 3) slopes[static_cast<std::size_t>(k)] = one.slope;
    }
    if (kind == op::neg) all.slope = -slopes[0];
    if (kind == op::add) all.slope = slopes[0] + slopes[1];
    if (kind == op::sub) all.slope = slopes[0] - slopes[1];
    if (kind == op::mul && is_constant(g_, g_.arg(e, 1)))
      all.slope = slopes[0] * static_cast<double>(g_[g_.arg(e, 1)].attribute);
    return known_[e] = all;
  }

  const graph& g_;
  const node_id idx_;
  std::unordered_map<node_id, along> known_;
};

}  // namespace

std::vector<node_id> loops_of(const graph& g, node_id reduce, node_id lane) {
  const std::vector<node_id> bound = bound_indices(g, reduce);
  if (is_folded_in_order(g, reduce) || keeps_several(g, reduce)) return nesting_order(g, bound, lane);
  std::vector<std::pair<std::pair<int, double>, node_id>> ways;
  for (const node_id idx : bound) {
    const auto way = way_of_index(g, idx).outermost(reduce);
    const auto inner = std::ranges::find_if(ways, [&](const auto& other) { return other.first < way; });
    ways.insert(inner, {way, idx});
  }
  std::vector<node_id> along;
  for (const auto& [way, idx] : ways) along.push_back(idx);
  return nesting_order(g, along, lane);
}

}  // namespace sheaf::inline v0_1::plan
