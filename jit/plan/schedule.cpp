#include <sheaf/jit/plan/schedule.hpp>

#include <algorithm>

#include <sheaf/dsl/graph/affine.hpp>
#include <sheaf/jit/numerics/numerics.hpp>
#include <sheaf/jit/plan/group_tile.hpp>
#include <sheaf/jit/plan/packing.hpp>
#include <sheaf/jit/plan/cost.hpp>
#include <sheaf/jit/plan/algorithms/scatter/scatters.hpp>
#include <sheaf/jit/plan/mixed_precision.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/roots.hpp>
#include <sheaf/jit/plan/short_rows.hpp>
#include <sheaf/jit/plan/algorithms/stencil/stencil.hpp>
#include <sheaf/jit/plan/tasks.hpp>
#include <sheaf/jit/tuning/ranges.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

namespace large_result = numerics::large_result;
using numerics::weights::share_of_lane;
using namespace tuning::schedule;

// Bounds are read once a slice: what counts is the width of the rows that are written.
int lanes_of_rows(const graph& g, const facts& known, const stage& s) {
  if (known.call().overrides.lanes != 0) return known.call().overrides.lanes;
  const node_id value = g.arg(s.body, 0);
  const bool heavy = any_node(g, value, [&](node_id n) { return is_function(g, n); });
  const bool gathers = any_node(g, value, [&](node_id n) { return g.kind(n) == op::load && data_names_last(g, n); });
  const bool along = s.vector == s.owned;
  const int bytes = along && gathers ? slice_bytes_of_gathers : heavy || along ? row_bytes_of_functions : row_bytes;
  const int most = bytes / row(g.type(s.define)).bytes;
  int lanes = numerics::lanes::least;
  while (lanes < std::min(most, numerics::lanes::most) && lanes < known.trips(s.vector)) lanes *= 2;
  return lanes;
}

// Of lanes that are results each has its own order of additions: there are as many as the call has use for, but of a
// register as many as it has.
void drop_idle_lanes(const facts& known, stage& s, int least) {
  if (known.call().overrides.lanes != 0 || &known == &known.bits()) return;
  while (s.lanes > least && s.lanes / 2 >= known.trips(s.vector)) s.lanes /= 2;
}

// Non-temporal stores that come in long runs keep loads waiting: a copy that alternates both is a tenth
// faster with four registers of lanes than with sixteen.
// Asked where they are more alone.
int lanes_of_large(const graph& g, const facts& known, const stage& s) {
  const int bytes = row(g.type(s.define)).bytes;
  const int lanes = std::max(numerics::lanes::least_of_most, large_result::iteration / bytes);
  if (known.for_groups() || known.call().overrides.lanes != 0 || s.lanes <= lanes) return s.lanes;
  const index_set all = set_of(g, s.indices);
  const bool is_large = known.bits().trips(all) * bytes >= large_result::from;
  return is_large ? lanes : s.lanes;
}

// The last index runs in lanes.
void schedule_scatter(graph& g, const facts& known, stage& s) {
  s.loops = s.indices;
  s.vector = no_node;
  s.lanes = 1;
  const node_id last = s.indices.back();
  const node_id at = s.how == way::scatter ? rows_of(g, s).at : no_node;
  const index_set condition = at != no_node ? deciding_of(g, s) : g.free[g.arg(s.body, 1)];
  const bool decides = last != s.owned && (condition.has(g.ordinal(last)) || is_fixed(g, s, last));
  const node_id value = g.arg(s.body, 0);
  const bool along_rows =
      last != s.owned ||
      (s.how == way::range_scatter && cost_of(g, known, value, last, 1024) <= cost_of(g, known, value, no_node, 1024));
  if (along_rows && !decides && may_vectorise(g, s.body, last)) {
    s.vector = last;
    const int most = known.for_groups() ? group_scatter_lanes : scatter_lanes;
    s.lanes = std::min(most, lanes_for(g, known, s.body, last, false));
    drop_idle_lanes(known, s, numerics::lanes::least);  // which are stored, and loaded again soon
  }
  if (s.inverse.array == no_node && s.slices.array != no_node && s.vector != no_node)
    s.lanes = lanes_of_rows(g, known, s);
}

// Lanes go along another index where memory does, so that each lane has its own running result; else along the scan.
void schedule_scan(graph& g, const facts& of_call, stage& s) {
  const facts& known = of_call.bits();
  const node_id value = s.scan().value;
  s.vector = no_node;
  s.lanes = 1;
  s.loops.clear();
  if (s.scan().factor != no_node && s.scan().block > 0) return;
  const scan_form& f = s.scan();
  const bool state = g.kind(value) == op::tuple || in_order(g, f.fold);
  const bool along = may_vectorise(g, value, f.walk) && f.factor == no_node && (!state || known.for_groups());
  amount least = cost_of(g, known, value, along ? s.scan().walk : no_node) + (along ? share_of_lane : 1);
  for (const node_id idx : s.indices) {
    if (f.ends || idx == s.owned || !may_vectorise(g, value, idx) || !may_vectorise(g, s.scan().walk, idx)) continue;
    const amount cost = cost_of(g, known, value, idx) + (idx == s.indices.back() ? share_of_lane : 1);
    if (cost > least || known.trips(idx) < 4) continue;
    least = cost;
    s.vector = idx;
  }
  for (const node_id idx : s.indices)
    if (idx != s.owned && idx != s.vector) s.loops.push_back(idx);
  if (s.vector != no_node) {
    s.loops.push_back(s.vector);
    s.lanes = std::min(32, lanes_for(g, known, value, s.vector, false));
  }
}

// Results of a window lie along the lanes.
void schedule_window(stage& s) {
  s.vector = s.owned;
  s.loops = s.indices;
  std::erase(s.loops, s.owned);
  s.loops.push_back(s.owned);
}

// Does a reduction run for each place of the index?
bool reduces_for(const graph& g, node_id body, node_id idx) {
  return any_node(g, body, [&](node_id n) { return g.kind(n) == op::reduce && uses(g, n, idx); });
}

// How many times as long lanes take of which few are used, where reductions, which might have lanes of their own, run
// for each. Whether they are few is not asked for itself: it splits classes where another index is chosen for it.
amount slowdown_of_few(const graph& g, const facts& known, node_id body, node_id idx) {
  if (known.for_groups() || !reduces_for(g, body, idx)) return 1;
  return max(1, few_lanes / max(known.trips(idx), 1));
}

// The index that runs in lanes, which no other depends on: none if loads cost less without. Its operations, too.
void choose_lanes(graph& g, const facts& of_call, stage& s, const amount& all) {
  const facts& known = of_call.bits();
  const amount stored = &known == &of_call ? all : known.trips(set_of(g, s.indices));
  amount least = cost_of(g, known, s.body, no_node, stored) + stored;
  s.vector = no_node;
  for (const node_id idx : s.indices) {
    if (!may_vectorise(g, s.body, idx)) continue;
    bool ranges = false;
    for (const node_id other : s.indices) ranges = ranges || (other != idx && g.free[other].has(g.ordinal(idx)));
    if (ranges) continue;
    const amount writes = stored * (idx == s.indices.back() ? share_of_lane : 1);
    const amount cost = (cost_of(g, known, s.body, idx, stored) + writes) * slowdown_of_few(g, known, s.body, idx);
    if (cost > least || (cost == least && s.vector == no_node)) continue;
    least = cost;
    s.vector = idx;
  }
  if (&known == &of_call) {
    s.operations = least;
    return;
  }
  const bool last = s.vector != no_node && s.vector == s.indices.back();
  s.operations = cost_of(g, of_call, s.body, s.vector, all) + all * (last ? share_of_lane : 1);
  if (s.vector != no_node) s.operations *= slowdown_of_few(g, of_call, s.body, s.vector);
}

// Loads of a body without reductions that gather at the lanes go from element to element along another index: within
// the lanes it is a loop, so that all of a line is read while it is in L1, and elements are transposed in registers
// (pass `transpose_accesses`); on a GPU a few of its iterations are a task, which a thread loads at once.
// no_node: no load gathers, or not all along one index.
node_id loop_within_lanes(graph& g, const facts& known, const stage& s) {
  if (s.vector == no_node) return no_node;
  node_id along = no_node;
  bool fits = true;
  for_each_node(g, s.body, [&](node_id n) {
    fits = fits && g.kind(n) != op::reduce;
    if (g.kind(n) != op::load || !gathers_at(g, known, n, s.vector)) return;
    const node_id last = g.arg(n, g[n].count - 1);
    node_id found = no_node;
    for (const node_id idx : s.indices)
      if (idx != s.vector && g.free[last].has(g.ordinal(idx))) found = idx;
    fits = fits && found != no_node && (along == no_node || along == found) && goes_along(g, known, n, found);
    along = found;
  });
  if (!fits || along == no_node || g.free[s.vector].has(g.ordinal(along))) return no_node;
  if (known.for_groups()) {
    const double columns = static_cast<double>(columns_of_thread(g, s));
    const amount all = known.trips(set_of(g, s.indices)) / (columns * tuning::schedule::lanes_of_warp);
    return is_closed(g, along) && known.trips(along) >= columns && all >= known.enough_tasks() ? along : no_node;
  }
  amount tasks = known.trips(s.vector) / tuning::transposed::lanes;  // of this loop, or of one around it
  for (const node_id idx : s.indices)
    if (idx != along && idx != s.vector) tasks = max(tasks, known.trips(idx));
  return known.trips(along) >= tuning::transposed::least && tasks >= known.enough_tasks() ? along : no_node;
}

// Rows of a few elements, each in a lane: they are one dimension with their columns, or a number of columns follows.
bool is_taken_apart(graph& g, node_id load, node_id lane) {
  const node_id tensor = g.arg(load, 0);
  const int last = g[load].count - 2;
  std::int64_t apart = 1;
  for (int d = last; d >= 0 && apart <= tuning::expression::most_apart; --d) {
    const node_id at = g.arg(load, 1 + d);
    if (uses(g, at, lane)) {
      const line l = split_affine(g, at, lane);
      return l.affine && l.slope * apart > 1 && l.slope * apart <= tuning::expression::most_apart;
    }
    const node_id columns = g.kind(tensor) == op::input ? extent(g, tensor, d) : no_node;
    if (columns == no_node || !is_constant(g, columns)) return false;
    apart *= g[columns].attribute;
  }
  return false;
}

// A last index of few places: a constant number of them, or planes whose loads gather along it. As few as are
// interleaved are worth a class of their own.
bool has_few_places(graph& g, const facts& known, stage& s, bool planes) {
  using namespace tuning::transposed;
  const node_id within = s.indices.back(), count = trips_of(g, within);
  if (!is_number(g, g.arg(within, 0), 0)) return false;
  if (is_constant(g, count)) return g[count].attribute >= 2 && g[count].attribute <= few;
  const amount trips = known.trips(within);
  if (!planes || !is_closed(g, within) || trips >= wide || !trips.may_be_fixed()) return false;
  if (!all_of({{trips.certain(), 2}, {few, trips.certain()}})) return true;
  // The stage's own index, of so many places: its definition and what reads it keep theirs.
  replacement put(g, proofs::kept);
  put.rename(within, fresh_index(g, within, integer(g, 0), integer(g, trips.whole())));
  replace_in_roots(s, put);
  return true;
}

// The index before a last one of few places, where loads go along it, or along rows of as many: with those in lanes a
// register would hold little, and so all places of some lanes are computed, and interleaved as they are stored.
// no_node: it is another stage.
node_id lane_of_interleaved(graph& g, const facts& known, stage& s) {
  if (known.for_groups() || s.indices.size() < 2) return no_node;
  const node_id within = s.indices.back(), lane = s.indices[s.indices.size() - 2];
  if (!may_vectorise(g, s.body, lane) || g.free[within].has(g.ordinal(lane))) return no_node;
  bool fits = is_closed(g, lane), loads = false, planes = true;
  for_each_node(g, s.body, [&](node_id n) {
    fits = fits && g.kind(n) != op::reduce;
    if (g.kind(n) != op::load || !g.free[n].has(g.ordinal(lane))) return;
    const bool along = goes_along(g, known, n, lane);
    const bool apart = is_taken_apart(g, n, lane);
    // What data names lies anywhere for either.
    const bool by_data = any_node(g, n, [&](node_id e) { return e != n && g.kind(e) == op::load && uses(g, e, lane); });
    fits = fits && (along || apart || by_data || goes_along(g, known, n, within));
    loads = loads || along || apart;
    planes = planes && along && uses(g, n, within);
  });
  if (!fits || !loads || known.trips(lane) < tuning::transposed::least_lanes) return no_node;
  return has_few_places(g, known, s, planes) ? lane : no_node;
}

// Does a comparison with a place of its range decide for each lane which terms a reduction has? In the middle of a row
// it comes out alike, if there is one of whole vectors.
bool asks_lanes(const graph& g, const stage& s) {
  return std::ranges::any_of(reductions_in(g, s.body), [&](node_id n) {
    const node_id condition = g.arg(n, 1);
    return g.free[condition].has(g.ordinal(s.vector)) && g.free[condition].meets(set_of(g, bound_indices(g, n))) &&
           !holds(g, condition, op::load);
  });
}

void leave_a_middle(const facts& known, stage& s) {
  using namespace tuning::moving_ranges;
  if (known.for_groups() || known.call().overrides.lanes != 0) return;
  while (s.lanes > numerics::lanes::of_short_rows && vectors_of_row * s.lanes > known.trips(s.vector))
    s.lanes /= 2;
}

void schedule_map(graph& g, const facts& known, stage& s, const amount& stored) {
  choose_lanes(g, known, s, stored);
  const node_id packed = s.vector == no_node ? lane_of_packed(g, known.bits(), s) : no_node;
  if (packed != no_node) s.vector = packed;
  if (s.vector == no_node) s.vector = lane_of_group_tile(g, known, s);
  s.loops.clear();
  if (schedule_short_rows(g, known.bits(), s)) return;
  const node_id interleaved = packed == no_node ? lane_of_interleaved(g, known, s) : no_node;
  if (interleaved != no_node) s.vector = interleaved;
  for (const node_id idx : s.indices)
    if (idx != s.vector) s.loops.push_back(idx);
  if (s.vector != no_node) {
    s.loops.push_back(s.vector);
    const bool inside = reduces_for(g, s.body, s.vector);
    s.lanes = lanes_for(g, known, s.body, s.vector, inside, !inside && s.indices.size() == 1);
    if (packed != no_node && known.call().overrides.lanes == 0) s.lanes = std::min(s.lanes, tuning::rows::lanes);
    if (inside) drop_idle_lanes(known, s, numerics::lanes::of_short_rows);
    else s.lanes = lanes_of_large(g, known, s);
    if (inside && asks_lanes(g, s)) leave_a_middle(known, s);
    // Its reductions run one after the other, and bounds are read once a slice.
    const int row_of_lanes = row_bytes / std::max(4, row(g.type(s.define)).bytes);
    if (known.call().overrides.lanes == 0 && s.reads_block_tree && s.lanes < row_of_lanes &&
        s.lanes < known.trips(s.vector))
      s.lanes = row_of_lanes;
    const node_id within = interleaved != no_node ? s.indices.back() : loop_within_lanes(g, known, s);
    if (within != no_node) {
      std::erase(s.loops, within);
      s.loops.push_back(within);
      s.loop_within = true;
      const int most = known.for_groups() ? tuning::schedule::lanes_of_warp : tuning::transposed::lanes;
      if (known.call().overrides.lanes == 0) s.lanes = std::min(s.lanes, most);
    }
  } else {
    s.lanes = 1;
  }
}

}  // namespace

void schedule(graph& g, const facts& known, stage& s) {
  if (s.how == way::pair_tiles) return;  // its rule did
  s.short_rows = s.loop_within = false;
  index_set all = set_of(g, s.indices);
  const amount repeats = known.trips(all);
  s.bytes = repeats * row(g.type(s.define)).bytes;
  switch (s.how) {
    case way::tiles: return;  // its rule did
    case way::scan:
      s.operations = repeats * (share_of_lane + cost_of(g, known, s.scan().value, no_node) * share_of_lane);
      schedule_scan(g, known, s);
      break;
    case way::stencil: schedule_stencil(g, known, s); break;
    case way::window:
      s.operations = repeats * 4 * (share_of_lane + cost_of(g, known, s.window().value, no_node) * share_of_lane);
      schedule_window(s);
      break;
    case way::map: schedule_map(g, known, s, repeats); break;
    default:
      all |= set_of(g, bound_indices(g, s.body));
      all.erase(g.ordinal(s.owned));
      s.operations = known.trips(all) * share_of_lane + repeats * share_of_lane;
      schedule_scatter(g, known, s);
  }
  share_tasks(g, known, s);
}

}  // namespace sheaf::inline v0_1::plan
