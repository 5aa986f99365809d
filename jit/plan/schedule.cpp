#include <sheaf/jit/plan/schedule.hpp>

#include <algorithm>

#include <sheaf/dsl/graph/affine.hpp>
#include <sheaf/jit/numerics/numerics.hpp>
#include <sheaf/jit/plan/packing.hpp>
#include <sheaf/jit/plan/cost.hpp>
#include <sheaf/jit/plan/algorithms/scatter/scatters.hpp>
#include <sheaf/jit/plan/mixed_precision.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/algorithms/stencil/stencil.hpp>
#include <sheaf/jit/plan/tasks.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

namespace large_result = numerics::large_result;
using numerics::weights::share_of_lane;
using namespace tuning::schedule;

// On a GPU a task of lanes is a group's: narrower vectors make more of them, down to those of a warp.
void narrow_lanes(const facts& known, stage& s) {
  while (s.lanes > lanes_of_warp && known.trips(s.vector) / s.lanes < known.enough_tasks()) s.lanes /= 2;
}

// On a GPU tasks have two dimensions: the vectors below a shared loop are tasks as well.
bool are_tasks_below(const facts& known, const stage& s) {
  return known.for_groups() && s.how == way::map && s.loops.size() == 2 && s.loops.back() == s.vector &&
         s.parallel == s.loops.front();
}

// May tasks take lanes, in chunks, where another loop has tasks, too few? Not if each would repeat a reduction that
// does not depend on them.
bool may_share_lanes(const graph& g, const facts& known, const stage& s) {
  if (known.trips(s.parallel) >= known.enough_tasks() || are_tasks_below(known, s)) return false;
  bool repeats = false;
  for_each_node(g, s.body, [&](node_id n) {
    repeats = repeats || (g.kind(n) == op::reduce && !g.free[n].empty() && !g.free[n].has(g.ordinal(s.vector)));
  });
  return !repeats && known.trips(s.vector) >= tuning::tasks::lanes * s.lanes &&
         known.trips(s.vector) > known.trips(s.parallel);
}

void parallelise(graph& g, const facts& known, stage& s) {
  s.chunk = 0;
  const auto is_open = [&](node_id idx) {
    index_set others = g.free[idx];
    others.erase(g.ordinal(idx));
    return !others.empty();
  };
  std::vector<node_id> loops = s.loops;
  std::erase_if(loops, [&](node_id idx) { return idx == s.vector || is_open(idx); });
  s.parallel = loop_of_tasks(known, loops, known.enough_tasks());
  if (s.vector != no_node && !is_open(s.vector) && (s.parallel == no_node || may_share_lanes(g, known, s)))
    s.parallel = s.vector;
  if (s.parallel == no_node) return;
  if (s.parallel == s.vector) {
    index_set rest;
    for (const node_id idx : s.loops)
      if (idx != s.vector) rest.insert(g.ordinal(idx));
    amount each = known.trips(rest);
    for_each_node(g, s.body, [&](node_id n) {
      if (g.kind(n) != op::reduce) return;
      index_set bound = set_of(g, bound_indices(g, n));
      each *= max(1.0, min(tuning::tasks::most_nested, known.trips(bound)));
    });
    if (known.for_groups()) narrow_lanes(known, s);
    s.chunk = s.lanes;
    while (static_cast<double>(s.chunk) * each < known.elements(tuning::tasks::elements)) s.chunk *= 2;
  } else {
    share(s, s.parallel);
  }
}

// Bounds are read once a slice: what counts is the width of the rows that are written.
int lanes_of_rows(const graph& g, const facts& known, const stage& s) {
  if (known.call().overrides.lanes != 0) return known.call().overrides.lanes;
  bool heavy = false;
  for_each_node(g, g.arg(s.body, 0), [&](node_id n) { heavy = heavy || is_function(g, n); });
  const int most = (heavy || s.vector == s.owned ? row_bytes_of_functions : row_bytes) / row(g.type(s.define)).bytes;
  int lanes = numerics::lanes::least;
  while (lanes < std::min(most, numerics::lanes::most) && lanes < known.trips(s.vector)) lanes *= 2;
  return lanes;
}

// Non-temporal stores that come in long runs keep loads waiting: a copy that alternates both is a tenth
// faster with four registers of lanes than with sixteen.
int lanes_of_large(const graph& g, const facts& known, const stage& s) {
  index_set all = set_of(g, s.indices);
  const int bytes = row(g.type(s.define)).bytes;
  const bool is_large = known.trips(all) * bytes >= large_result::from;
  const bool bounded = is_large && !known.for_groups() && known.call().overrides.lanes == 0;
  return bounded ? std::max(numerics::lanes::least_of_most, large_result::iteration / bytes) : numerics::lanes::most;
}

// Does data say which place of this index an update goes to?
bool is_fixed(graph& g, const stage& s, node_id idx) {
  if (s.how != way::scatter) return false;
  updated_rows rows = rows_of(g, s);
  const auto fixed = fixed_of(g, s, rows);
  return std::ranges::find(fixed, idx, &fixed_index::index) != fixed.end();
}

// Tasks own batches where there are enough, else blocks of the owned index. The last index runs in lanes.
void schedule_scatter(graph& g, const facts& known, stage& s) {
  s.loops = s.indices;
  s.vector = no_node;
  s.lanes = 1;
  s.parallel = s.owned;
  s.chunk = 0;
  const node_id last = s.indices.back();
  const node_id at = s.how == way::scatter ? rows_of(g, s).at : no_node;
  const index_set condition = g.free[at != no_node ? at : g.arg(s.body, 1)];
  const bool decides = last != s.owned && (condition.has(g.ordinal(last)) || is_fixed(g, s, last));
  const node_id value = g.arg(s.body, 0);
  const bool along_rows =
      last != s.owned ||
      (s.how == way::range_scatter && cost_of(g, known, value, last, 1024) <= cost_of(g, known, value, no_node, 1024));
  if (along_rows && !decides && may_vectorise(g, s.body, last)) {
    s.vector = last;
    s.lanes = std::min(scatter_lanes, lanes_for(g, known, s.body, last, false));
  }
  if (s.inverse.array != no_node) {
    s.chunk = s.inverse.chunk;
    return;
  }
  if (s.slices.array != no_node) {
    s.chunk = s.slices.chunk;
    if (s.vector != no_node) s.lanes = lanes_of_rows(g, known, s);
    return;
  }
  if (s.rows.whole != no_node) {
    s.parallel = s.rows.block;
    return;
  }
  for (const node_id idx : s.indices)
    if (idx != s.owned && idx != last && !is_fixed(g, s, idx) && known.trips(idx) >= known.enough_tasks()) {
      s.parallel = idx;
      break;
    }
  if (s.parallel == s.owned) {
    s.chunk = least_chunk;
    // Each task asks every update. Of single numbers that takes longer than to add them: then one task has all rows.
    const bool numbers = s.how == way::scatter && s.vector == no_node && !known.for_groups();
    index_set updates = set_of(g, bound_indices(g, s.body));
    const bool asks_much = numbers && known.trips(updates) * rows_for_an_update > known.trips(s.owned);
    const double tasks = asks_much ? 1 : 2 * known.enough_tasks();
    while (static_cast<double>(s.chunk) * tasks < known.trips(s.owned)) s.chunk *= 4;
  }
}

// Lanes go along another index where memory does, so that each lane has its own running result; else along the scan.
// Blocks are shared where there are some, else the longest of the other indices.
void schedule_scan(graph& g, const facts& known, stage& s) {
  const node_id value = s.scan().value;
  s.vector = s.parallel = no_node;
  s.lanes = 1;
  s.chunk = 0;
  s.loops.clear();
  if (s.scan().factor != no_node && s.scan().block > 0) {
    s.parallel = s.scan().block_index;
    s.chunk = 1;
    return;
  }
  const scan_form& f = s.scan();
  const bool along = may_vectorise(g, value, f.walk) && f.factor == no_node && g.kind(value) != op::tuple &&
                     !in_order(g, f.fold);
  amount least = cost_of(g, known, value, along ? s.scan().walk : no_node) + (along ? share_of_lane : 1);
  for (const node_id idx : s.indices) {
    if (idx == s.owned || !may_vectorise(g, value, idx) || !may_vectorise(g, s.scan().walk, idx)) continue;
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
  if (s.scan().block > 0) {
    s.parallel = s.owned;
    s.chunk = s.scan().block;
    while (s.scan().carry == no_node && static_cast<double>(s.chunk) < known.elements(tuning::tasks::elements))
      s.chunk += s.scan().block;
    return;
  }
  for (const node_id idx : s.loops) {
    const amount iterations = known.trips(idx) / (idx == s.vector ? s.lanes : 1);
    if (s.parallel == no_node || iterations > known.trips(s.parallel) / (s.parallel == s.vector ? s.lanes : 1))
      s.parallel = idx;
  }
  if (s.parallel == no_node) return;
  share(s, s.parallel);
  if (s.parallel == s.vector) s.chunk = s.lanes;
}

// Results of a window lie along the lanes. Tasks share the longest other index, or whole blocks.
void schedule_window(const facts& known, stage& s) {
  s.vector = s.owned;
  s.loops.clear();
  s.parallel = s.owned;
  for (const node_id idx : s.indices)
    if (idx != s.owned && (known.trips(idx) >= known.enough_tasks() ||
                           known.trips(s.owned) <= 2 * known.elements(tuning::tasks::elements)))
      s.parallel = idx;
  if (s.parallel != s.owned) s.loops.push_back(s.parallel);
  for (const node_id idx : s.indices)
    if (idx != s.parallel && idx != s.owned) s.loops.push_back(idx);
  s.loops.push_back(s.owned);
  if (s.parallel != s.owned) return;
  s.chunk = s.window().block > 0 ? s.window().block : s.lanes;
  while (static_cast<double>(s.chunk) < 2 * known.elements(tuning::tasks::elements)) s.chunk *= 2;
  // The first block of a task folds once more what is before it.
  const amount chunks = known.trips(s.owned) / (4 * known.enough_tasks());
  while (s.chunk < 8 * s.window().block && chunks > static_cast<double>(s.chunk)) s.chunk *= 2;
}

}  // namespace

void schedule(graph& g, const facts& known, stage& s) {
  if (s.how == way::pair_tiles) return;  // its rule did
  index_set all = set_of(g, s.indices);
  const amount repeats = known.trips(all);
  s.bytes = repeats * row(g.type(s.define)).bytes;
  if (s.how == way::scan) {
    s.operations = repeats * (share_of_lane + cost_of(g, known, s.scan().value, no_node) * share_of_lane);
    return schedule_scan(g, known, s);
  }
  if (s.how == way::tiles) return;
  if (s.how == way::stencil) return schedule_stencil(g, known, s);
  if (s.how == way::window) {
    s.operations = repeats * 4 * (share_of_lane + cost_of(g, known, s.window().value, no_node) * share_of_lane);
    return schedule_window(known, s);
  }
  if (s.how != way::map) {
    all |= set_of(g, bound_indices(g, s.body));
    all.erase(g.ordinal(s.owned));
    s.operations = known.trips(all) * share_of_lane + repeats * share_of_lane;
    return schedule_scatter(g, known, s);
  }
  const amount& stored = repeats;
  amount least = cost_of(g, known, s.body, no_node, repeats) + stored;
  s.vector = no_node;
  for (const node_id idx : s.indices) {
    if (!may_vectorise(g, s.body, idx)) continue;
    bool ranges = false;
    for (const node_id other : s.indices) ranges = ranges || (other != idx && g.free[other].has(g.ordinal(idx)));
    if (ranges) continue;
    const amount cost =
        cost_of(g, known, s.body, idx, repeats) + stored * (idx == s.indices.back() ? share_of_lane : 1);
    if (cost > least || (cost == least && s.vector == no_node)) continue;
    least = cost;
    s.vector = idx;
  }
  const node_id packed = s.vector == no_node ? lane_of_packed(g, known, s) : no_node;
  if (packed != no_node) s.vector = packed;
  s.loops.clear();
  for (const node_id idx : s.indices)
    if (idx != s.vector) s.loops.push_back(idx);
  bool inside = false;
  if (s.vector != no_node) {
    s.loops.push_back(s.vector);
    for_each_node(g, s.body, [&](node_id n) {
      inside = inside || (g.kind(n) == op::reduce && g.free[n].has(g.ordinal(s.vector)));
    });
    s.lanes = lanes_for(g, known, s.body, s.vector, inside);
    if (packed != no_node && known.call().overrides.lanes == 0) s.lanes = std::min(s.lanes, tuning::rows::lanes);
    if (!inside) s.lanes = std::min(s.lanes, lanes_of_large(g, known, s));
    // Its reductions run one after the other, and bounds are read once a slice.
    const int row_of_lanes = row_bytes / std::max(4, row(g.type(s.define)).bytes);
    if (known.call().overrides.lanes == 0 && s.reads_block_tree && s.lanes < row_of_lanes &&
        s.lanes < known.trips(s.vector))
      s.lanes = row_of_lanes;
  } else {
    s.lanes = 1;
  }
  parallelise(g, known, s);
  s.operations = least;
}

}  // namespace sheaf::inline v0_1::plan
