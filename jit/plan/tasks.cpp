#include <sheaf/jit/plan/tasks.hpp>

#include <algorithm>
#include <span>

#include <sheaf/jit/plan/algorithms/range_scatter/ragged.hpp>
#include <sheaf/jit/plan/algorithms/scatter/scatters.hpp>
#include <sheaf/jit/plan/algorithms/stencil/small_windows.hpp>
#include <sheaf/jit/plan/loop_order.hpp>
#include <sheaf/jit/plan/partial_results.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/short_rows.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

namespace sizes = tuning::tasks;

// Whose iterations are tasks: of these the first with enough of them, else the longest; no_node: there is none.
node_id loop_of_tasks(const facts& known, std::span<const node_id> loops, double enough) {
  if (loops.empty()) return no_node;
  node_id found = loops.front();
  for (const node_id idx : loops.subspan(1)) {
    const amount before = known.trips(found);
    if (all_of({{enough - 1, before}, {known.trips(idx), before + 1}})) found = idx;
  }
  return found;
}

// Tasks take iterations of this loop: it is the outermost.
void share(stage& s, node_id idx) {
  s.parallel = idx;
  std::erase(s.loops, idx);
  s.loops.insert(s.loops.begin(), idx);
}

// ---- map

// On a GPU a task of lanes is a group's: narrower vectors make more of them, down to those of a warp.
void narrow_lanes(const facts& known, stage& s) {
  while (s.lanes > tuning::schedule::lanes_of_warp && known.trips(s.vector) / s.lanes < known.enough_tasks())
    s.lanes /= 2;
}

// May a task take more lanes? On a GPU not if twice as many would make too few tasks.
bool may_grow(const facts& known, const stage& s) {
  return !known.for_groups() || known.trips(s.vector) >= 2 * known.enough_tasks() * static_cast<double>(s.task.chunk);
}

// On a GPU tasks have two dimensions: the vectors below a shared loop are tasks as well.
bool are_tasks_below(const facts& known, const stage& s) {
  return known.for_groups() && s.loops.size() == 2 && s.loops.back() == s.vector && s.parallel == s.loops.front();
}

// May tasks take lanes, in chunks, where another loop has tasks, too few? Not if each would repeat a reduction that
// does not depend on them.
bool may_share_lanes(const graph& g, const facts& known, const stage& s) {
  if (are_tasks_below(known, s)) return false;
  const bool repeats = any_node(g, s.body, [&](node_id n) {
    return g.kind(n) == op::reduce && !g.free[n].empty() && !g.free[n].has(g.ordinal(s.vector));
  });
  if (repeats) return false;
  return shapes::all_of(parts_of_lanes(known, s, known.trips(s.parallel)));
}

// What one iteration of the lanes takes, in elements: an expression of extents, times what is not made of them alone.
struct below_lanes {
  node_id closed;
  amount open = 1;
};
below_lanes elements_below_lanes(graph& g, const facts& known, const stage& s) {
  below_lanes each{integer(g, 1)};
  const auto are_closed = [&](const auto& list) {
    return std::ranges::all_of(list, [&](node_id idx) { return is_closed(g, idx); });
  };
  const auto product = [&](const auto& list) {
    node_id all = integer(g, 1);
    for (const node_id idx : list) all = make(g, op::mul, all, trips_of(g, idx));
    return all;
  };
  const auto at_most_nested = [&](node_id n) {
    const node_id most = integer(g, static_cast<std::int64_t>(sizes::most_nested));
    return make(g, op::maximum, make(g, op::minimum, n, most), integer(g, 1));
  };
  for (const node_id idx : s.loops) {
    if (idx == s.vector) continue;
    if (is_closed(g, idx)) each.closed = make(g, op::mul, each.closed, trips_of(g, idx));
    else each.open *= known.trips(idx);
  }
  if (s.short_rows) return {make(g, op::add, each.closed, trips_of_folds(g, s.body)), each.open};
  for (const node_id n : reductions_in(g, s.body)) {
    const std::vector<node_id> bound = bound_indices(g, n);
    if (!are_closed(bound))
      each.open *= max(1.0, min(sizes::most_nested, known.trips(set_of(g, bound))));
    else
      each.closed = make(g, op::mul, each.closed, at_most_nested(product(bound)));
  }
  return each;
}

// Of a task, where the processor's lanes are the loop that tasks share: it follows from extents in the kernel, so that
// no number of iterations is for some of them alone. A constant, where it is the same for all.
node_id size_of_chunk(graph& g, const stage& s, node_id each) {
  const node_id vectors = make(g, op::mul, make(g, op::maximum, each, integer(g, 1)), integer(g, s.lanes));
  const node_id count = ceil_quotient(g, integer(g, static_cast<std::int64_t>(sizes::elements)), vectors);
  return make(g, op::mul, count, integer(g, s.lanes));
}

// Memory is walked in runs of a task's lanes, one for each iteration of the loops around: longer where there are
// enough tasks for it.
node_id size_of_runs(graph& g, const stage& s, node_id chunk) {
  const node_id longest = make(g, op::quotient, integer(g, sizes::run_bytes / row(g.type(s.define)).bytes), chunk);
  const std::int64_t tasks = static_cast<std::int64_t>(sizes::many);
  const node_id share = make(g, op::quotient, trips_of(g, s.parallel), make(g, op::mul, chunk, integer(g, tasks)));
  const node_id chunks = make(g, op::maximum, make(g, op::minimum, share, longest), integer(g, 1));
  return make(g, op::mul, chunks, chunk);
}

// A loop that depends on no other; else the lanes, in chunks.
void share_map(graph& g, const facts& known, stage& s) {
  if (known.for_groups() && s.loop_within) {  // iterations of a thread
    s.parallel = s.loops.back();
    s.task.chunk = columns_of_thread(g, s);
    return;
  }
  if (!known.for_groups() && s.vector != no_node && !s.short_rows) order_by_rows(known, s);
  const auto is_open = [&](node_id idx) {
    index_set others = g.free[idx];
    others.erase(g.ordinal(idx));
    return !others.empty();
  };
  // Not those within the lanes.
  std::vector<node_id> loops(s.loops.begin(), std::ranges::find(s.loops, s.vector));
  std::erase_if(loops, is_open);
  const bool by_block = serves_several(g, known, s, loops) && known.trips(s.rows.block) >= known.enough_tasks();
  s.parallel = by_block ? s.rows.block : loop_of_tasks(known, loops, known.enough_tasks());
  if (s.vector != no_node && !is_open(s.vector) && (s.parallel == no_node || may_share_lanes(g, known, s)))
    s.parallel = s.vector;
  if (s.parallel == no_node) return;
  if (s.parallel != s.vector) return share(s, s.parallel);
  const below_lanes each = elements_below_lanes(g, known, s);
  if (known.for_groups()) narrow_lanes(known, s);
  s.task.chunk = s.lanes;
  node_id chunk = size_of_chunk(g, s, each.closed);
  const bool follows = !known.for_groups() && each.open.is(1) && !is_constant(g, chunk);
  if (!follows) {
    const amount all = max(1, known.value(each.closed).value_or(1) * each.open);
    const std::int64_t by = known.call().gpu ? 2 : sizes::step;
    while (static_cast<double>(s.task.chunk) * all < known.elements(sizes::elements) && may_grow(known, s))
      s.task.chunk *= by;
    chunk = integer(g, s.task.chunk);
  }
  const bool in_runs = s.loops.size() > 1 && s.loops.back() == s.vector && !s.short_rows;
  if (in_runs && !known.for_groups()) chunk = size_of_runs(g, s, chunk);
  if (!is_constant(g, chunk)) s.task.of_extents = chunk;
}

// ---- Other forms

// The first with enough of them; on a GPU else the longest, as a few batches are still more tasks than blocks of rows,
// each of which walks the updates of all batches. no_node: blocks of rows.
node_id batches_of_scatter(graph& g, const facts& known, const stage& s) {
  std::vector<node_id> loops;
  for (const node_id idx : s.indices)
    if (idx != s.owned && idx != s.indices.back() && !is_fixed(g, s, idx)) loops.push_back(idx);
  const node_id found = loop_of_tasks(known, loops, known.enough_tasks());
  if (found == no_node) return found;
  const amount batches = known.trips(found);
  const bool more = known.call().gpu && batches * tuning::schedule::least_chunk > known.trips(s.owned);
  return more || batches >= known.enough_tasks() ? found : no_node;
}

// Batches where there are enough, else blocks of the rows that the stage owns.
void share_scatter(graph& g, const facts& known, stage& s) {
  s.parallel = s.owned;
  if (s.inverse.array != no_node || s.slices.array != no_node) {
    s.task.chunk = s.inverse.array != no_node ? s.inverse.chunk : s.slices.chunk;
    if (s.inverse.array == no_node && s.slices.shift != no_node) s.task.of_extents = rows_of_chunk(g, s.slices);
    // What tasks need of the slices at their ends they compute anew: threads take chunks in a row.
    if (!s.slices.shorts.empty() && s.task.of_extents != no_node && !known.call().gpu)
      s.task.most_tasks = sizes::any_number;
    return;
  }
  if (s.rows.whole != no_node) return share_blocks(s, s.rows);
  if (const node_id batches = batches_of_scatter(g, known, s); batches != no_node) {
    s.parallel = batches;
    return;
  }
  s.task.chunk = tuning::schedule::least_chunk;
  // Each task asks every update. Of single numbers that takes longer than to add them: then one task has all rows.
  const bool numbers = s.how == way::scatter && s.vector == no_node && !known.for_groups();
  const index_set updates = set_of(g, bound_indices(g, s.body));
  const bool asks_much = numbers && known.trips(updates) * tuning::schedule::rows_for_an_update > known.trips(s.owned);
  const double tasks = asks_much ? 1 : known.call().gpu ? 2 * known.enough_tasks() : sizes::that_ask_all;
  // What a processor's task takes follows from a call's rows: no number of them is for some extents alone.
  if (!known.call().gpu) {
    s.task.most_tasks = static_cast<int>(tasks);
    return;
  }
  while (static_cast<double>(s.task.chunk) * tasks < known.trips(s.owned)) s.task.chunk *= 4;
}

// Blocks where there are some, else the longest of the other indices.
void share_scan(const facts& known, stage& s) {
  const scan_form& f = s.scan();
  if (f.block > 0) {
    const bool by_block = f.factor != no_node || f.ends;
    s.parallel = by_block ? f.block_index : s.owned;
    s.task.chunk = by_block ? 1 : f.block;
    if (by_block || f.carry != no_node) return;
    while (static_cast<double>(s.task.chunk) < known.elements(sizes::elements)) s.task.chunk += f.block;
    return;
  }
  const auto iterations = [&](node_id idx) { return known.trips(idx) / (idx == s.vector ? s.lanes : 1); };
  for (const node_id idx : s.loops)
    if (s.parallel == no_node || iterations(idx) > iterations(s.parallel)) s.parallel = idx;
  if (s.parallel == no_node) return;
  share(s, s.parallel);
  if (s.parallel == s.vector) s.task.chunk = s.lanes;
}

// The last other index that is long enough, or whole blocks.
void share_window(const facts& known, stage& s) {
  const amount places = known.trips(s.owned);
  const bool is_short = places <= 2 * known.elements(sizes::elements);
  s.parallel = s.owned;
  for (const node_id idx : s.indices)
    if (idx != s.owned && (known.trips(idx) >= known.enough_tasks() || is_short)) s.parallel = idx;
  if (s.parallel != s.owned) return share(s, s.parallel);
  const std::int64_t block = s.window().block;
  s.task.chunk = block > 0 ? block : s.lanes;
  while (static_cast<double>(s.task.chunk) < 2 * known.elements(sizes::elements)) s.task.chunk *= 2;
  // The first block of a task folds once more what is before it.
  const amount chunks = places / (4 * known.enough_tasks());
  while (s.task.chunk < 8 * block && chunks > static_cast<double>(s.task.chunk)) s.task.chunk *= 2;
}

void share_stencil(const facts& known, stage& s) {
  const std::size_t others = std::max<std::size_t>(s.indices.size() - 1, 1);  // without the lanes, where there are some
  if (!known.for_groups()) order_by_rows(known, s);
  share(s, loop_of_tasks(known, std::span(s.loops).first(others), sizes::batches));
  s.task.chunk = s.parallel == s.vector ? tuning::stencil::chunk : 0;
}

// Blocks of rows, or an index that is the same for all pairs of a tile.
void share_pair_tiles(const facts& known, stage& s) {
  s.parallel = s.pairs().rows;
  for (const node_id idx : s.loops)
    if (known.trips(idx) >= known.enough_tasks()) s.parallel = idx;
  if (s.parallel != s.pairs().rows) return share(s, s.parallel);
  s.task.chunk = tuning::pair_tiles::rows_of_task;
}

}  // namespace

std::vector<shapes::at_least> parts_of_lanes(const facts& known, const stage& s, const amount& tasks) {
  const amount along = known.trips(s.vector);
  return {{known.enough_tasks() - 1, tasks}, {along, sizes::lanes * s.lanes}, {along, tasks + 1}};
}

std::int64_t columns_of_thread(const graph& g, const stage& s) {
  using namespace tuning;
  return std::min<std::int64_t>(emit::most_stored, transposed::bytes_of_thread / row(g.type(s.define)).bytes);
}

void share_tasks(graph& g, const facts& known, stage& s) {
  s.parallel = no_node;
  s.task = {};
  switch (s.how) {
    case way::map: return share_map(g, known, s);
    case way::partial: return share_blocks(s, s.rows);
    case way::scatter:
    case way::range_scatter: return share_scatter(g, known, s);
    case way::scan: return share_scan(known, s);
    case way::stencil: return share_stencil(known, s);
    case way::window: return share_window(known, s);
    case way::pair_tiles: return share_pair_tiles(known, s);
    case way::endpoints: s.parallel = s.loops.front(); return;  // the slices' beginnings and their ends
    case way::sweep:                                            // columns, a register at a time
      s.parallel = s.vector;
      s.task.chunk = s.lanes;
      return;
    case way::lists:
    case way::inverse_index:
    case way::space:
    case way::order:
    case way::tile_starts:
    case way::tiles: return;  // their lowering has kernels with tasks of their own
  }
}

void share_cache_tile(kernel_plan& k, stage& s) {
  s.loops = k.cache.batch;
  s.loops.insert(s.loops.end(), k.cache.inner.begin(), k.cache.inner.end());
  s.loops.push_back(k.cache.rows);
  s.loops.push_back(s.vector);
  s.parallel = s.loops.front();
  k.parallel = k.cache.rows;
}

void share_blocks(stage& s, const row_blocks& rows) {
  s.parallel = rows.block;
  s.task = {};
}

namespace {

// Of a register tile over the loop that tasks share, or of a cache tile.
std::int64_t rows_of_tile(const kernel_plan& k) {
  if (!k.cache.inner.empty()) return tuning::cache_tile::rows_of_several;
  if (k.cache.rows != no_node) return tuning::cache_tile::rows_of_task;
  for (const tiled_loop& t : k.tile)
    if (t.index == k.parallel) return t.iterations * (t.equal.empty() ? 1 : tuning::register_tile::equal_tiles_of_task);
  return 1;
}

// A few batches are too few tasks: then parts of the loop within them are tasks, too, if nothing would be computed anew
// for each part. Not of a loop that is tiled: parts would be shorter than the tile.
void share_parts(const graph& g, const facts& known, const program_plan& plan, kernel_plan& k) {
  if (known.call().gpu || k.parallel == no_node || k.stages.size() != 1 || k.task.chunk != 0) return;
  const stage& s = plan.at(k.stages.front());
  const bool plain = s.how == way::map && s.where != place::check && s.rows.whole == no_node && !s.short_rows &&
                     !s.loop_within && s.order.index == no_node && s.order_when == no_node;
  if (!plain || s.loops.size() < 2 || s.loops.front() != k.parallel || s.loops[1] == s.vector) return;
  const node_id within = s.loops[1];
  index_set others = g.free[within];
  others.erase(g.ordinal(within));
  const auto repeats = [&](node_id n) { return !g.free[n].empty() && !g.free[n].has(g.ordinal(within)); };
  if (!others.empty() || std::ranges::any_of(reductions_in(g, s.body), repeats)) return;
  if (std::ranges::count(k.tile, within, &tiled_loop::index) != 0) return;
  const amount batches = known.trips(k.parallel), parts_of = known.trips(within);
  std::int64_t& parts = k.task.parts;
  if (known.call().force_for_tests)
    parts = sizes::forced_parts;
  else if (known.trips(set_of(g, s.loops)) < sizes::parted_from)
    return;
  else
    while (batches * static_cast<double>(parts) < sizes::many && parts_of >= 4.0 * static_cast<double>(parts))
      parts *= 2;
  if (parts > 1) k.task.second = within;
}

}  // namespace

void size_tasks(const graph& g, const facts& known, program_plan& plan) {
  for (kernel_plan& k : plan.kernels) {
    k.task.rows = rows_of_tile(k);
    if (k.task.rows == 1) share_parts(g, known, plan, k);
  }
}

amount tasks_in(const facts& known, const kernel_plan& k) {
  if (k.parallel == no_node) return 1;
  if (k.task.second != no_node) return known.trips(k.parallel) * static_cast<double>(k.task.parts);
  amount size = static_cast<double>(std::max({k.task.chunk, k.task.rows, std::int64_t{1}}));
  if (k.task.of_extents != no_node) size = known.value(k.task.of_extents).value_or(size);
  const graph& g = known.g();
  const amount rows = known.trips(k.parallel) * known.trips(set_of(g, k.cache.inner));
  const amount tasks = rows / size * known.trips(set_of(g, k.cache.batch));
  return k.task.most_tasks == 0 ? tasks : min(tasks, k.task.most_tasks);
}

namespace {
// Each as often as there are values of it.
amount functions_of(const facts& known, const stage& s) {
  const graph& g = known.g();
  amount all = 0;
  for_each_node(g, s.body, [&](node_id n) {
    if (is_function(g, n) && is_floating(g.type(n))) all += known.trips(g.free[n]);
  });
  return all;
}
}  // namespace

amount cost_of_task(const facts& known, const program_plan& plan, const kernel_plan& k) {
  const target::family& on = known.call().on;
  amount work = k.time;
  for (const int i : k.stages) {
    const stage& s = plan.at(i);
    work += s.operations * on.operation + functions_of(known, s) * on.function;
  }
  return max(1.0, work / max(1.0, tasks_in(known, k)));
}

bool is_shared(const facts& known, const program_plan& plan, const kernel_plan& k) {
  if (known.call().gpu) return tasks_in(known, k) > 1;
  const sharing wanted = known.call().overrides.sharing;
  if (wanted != sharing::planned) return wanted == sharing::always;
  return plan.cost > known.call().on.wake;
}

}  // namespace sheaf::inline v0_1::plan
