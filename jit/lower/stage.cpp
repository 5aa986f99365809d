// Stages: the loop nests of a kernel, shared between stages as far as their loops are the same.
#include <algorithm>

#include <sheaf/jit/lower/lowering.hpp>
#include <sheaf/jit/plan/tasks.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::lower {

namespace {

using namespace tuning::kernels;

}  // namespace

std::string kernel_lowering::index_text(node_id idx) const {
  const text_range t = g.names[index_name(g, idx)];
  return std::string(g.text.data() + t.first, static_cast<std::size_t>(t.size));
}

ir::block_builder kernel_lowering::open(scope& outer, node_id idx, int lanes, const range* within, const char* suffix,
                                        bool folds) {
  const ir::value low = within != nullptr ? within->low : emit(g.arg(idx, 0), outer);
  const ir::value high = within != nullptr ? within->high : emit(g.arg(idx, 1), outer);
  ir::block_builder made = outer.block->loop(lanes > 1 ? ir::loop_kind::vector : ir::loop_kind::serial,
                                             index_text(idx) + suffix, low, high, lanes);
  made.head().trips = known.trips(idx);
  for (const plan::tiled_loop& t : tile)
    if (t.index == idx && lanes == 1) made.head().jam = t.iterations;
  const auto first = known.value(g.arg(idx, 0)), end = known.value(g.arg(idx, 1));
  if (lanes == 1 || !first || !end) return made;
  // A part that a task takes ends where a chunk or the whole range does.
  const bool divides = within == nullptr || (within == outer.part_of(idx) && task_size % lanes == 0);
  // A fold that is not within another loop ends once a task, and of many iterations the last few are soon done.
  const auto trips = *end - *first;
  const bool fixed = is_constant(g, g.arg(idx, 0)) && is_constant(g, g.arg(idx, 1));
  const bool ends_once = folds && outer.bound.empty() && !known.call().gpu && !fixed;
  made.head().whole =
      divides && !ends_once && !trips.is_of_class() && remainder(trips, lanes) == 0 && trips <= most_whole;
  made.head().size_optimised = !made.head().whole && small && trips <= 2 * lanes;
  return made;
}

void kernel_lowering::bind(scope& inner, node_id idx, int lanes) {
  inner.bound.insert(g.ordinal(idx));
  if (lanes > 1) {
    inner.lane = idx;
    inner.values[2 * std::int64_t{idx} + 1] = inner.block->counter();
    return;
  }
  const auto ordered = std::ranges::find_if(stages, [&](const stage* s) { return s->order.index == idx; });
  if (ordered == stages.end() || task_size != 0) {
    inner.set(idx, inner.block->counter());
  } else {
    inner.bind_to(g, (*ordered)->order.walk, inner.block->counter());
    inner.set(idx, emit((*ordered)->order.row, inner));
  }
  if (inner.block->head().jam == 1) return;
  for (const plan::tiled_loop& t : tile)
    for (std::size_t k = 0; t.index == idx && k < t.equal.size(); ++k)
      inner.block->head().equal.push_back(emit(t.equal[k], inner));
}

std::vector<node_id> kernel_lowering::place_in(const stage& s) {
  std::vector<node_id> subscripts;
  for (std::size_t d = 0; d < s.indices.size(); ++d)
    subscripts.push_back(make(g, op::sub, s.indices[d], g.arg(g.arg(s.define, 1 + static_cast<int>(d)), 0)));
  return subscripts;
}

bool kernel_lowering::stores_once(const stage& s) const {
  return s.how == plan::way::map || s.how == plan::way::stencil || s.how == plan::way::window ||
         s.how == plan::way::pair_tiles || (s.how == plan::way::scan && s.scan().factor == no_node);
}

void kernel_lowering::store(const stage& s, ir::value stored, scope& at, ir::value mask, bool once) {
  const std::int32_t id = buffers.at(s.define);
  std::vector<ir::value> list;
  const ir::access how = subscripts_of(id, place_in(s), at, list);
  at.block->store(id, std::move(list), stored, how, mask, once || stores_once(s));
}

void kernel_lowering::task(const plan::kernel_plan& k, scope& s, const range* chunk) {
  switch (stages.front()->how) {
    case plan::way::scan: return scan(*stages.front(), s, chunk);
    case plan::way::stencil: return stencil(stages, k.parallel != no_node && k.task.chunk == 0 ? 1 : 0, s, chunk);
    case plan::way::window: return window(*stages.front(), s, chunk);
    case plan::way::scatter:
    case plan::way::range_scatter: return scatter(s, chunk);
    case plan::way::lists: return list_slices(*stages.front(), s);
    case plan::way::inverse_index: return list_updates(*stages.front(), s);
    case plan::way::endpoints: return list_endpoints(*stages.front(), s);
    case plan::way::pair_tiles: return pair_tiles(k, s, chunk);
    case plan::way::sweep: return sweep(*stages.front(), s, *chunk);
    case plan::way::space:
    case plan::way::order:
    case plan::way::tile_starts:
    case plan::way::tiles:
    case plan::way::map:
    case plan::way::partial: break;
  }
  std::vector<entry> entries;
  for (const stage* each : stages) entries.push_back({each, k.parallel != no_node && k.task.chunk == 0 ? 1u : 0u});
  if (chunk != nullptr) s.cut = k.parallel, s.part = chunk;
  nest(entries, s);
}

// A task for each index, or for those that a list names.
void kernel_lowering::tasks_of_indices(const plan::kernel_plan& k, scope& top) {
  const node_id low = g.arg(k.parallel, 0), high = g.arg(k.parallel, 1), when = stages.front()->when;
  const auto in_order = [&](const stage* s) {
    return s->how == plan::way::map && s->slices.slice == k.parallel && s->order_when != no_node;
  };
  const auto ordered = std::ranges::find_if(stages, in_order);
  const ir::value listed = ordered == stages.end() ? ir::none : emit((*ordered)->order_when, top);
  const ir::value first = emit(low, top),
                  end = when == no_node ? emit(high, top) : emit(make(g, op::select, when, high, low), top);
  top.before_tasks = true;
  scope inner(top, top.block->loop(kind_of_tasks(k), index_text(k.parallel), first, end));
  inner.block->head().cost = cost_of_task(k);
  if (ordered == stages.end())
    bind(inner, k.parallel, 1);
  else
    bind_in_order(**ordered, top, inner, listed);
  task(k, inner, nullptr);
  inner.close();
}

// A task for each index and part of the loop within it.
void kernel_lowering::tasks_of_parts(const plan::kernel_plan& k, scope& top) {
  const node_id low = g.arg(k.parallel, 0), when = stages.front()->when;
  const node_id parts_of = integer(g, k.task.parts), none = integer(g, 0);
  const node_id tasks = make(g, op::mul, plan::trips_of(g, k.parallel), parts_of);
  const ir::value zero = emit(none, top),
                  count = emit(when == no_node ? tasks : make(g, op::select, when, tasks, none), top);
  const ir::value first = emit(low, top), start = emit(g.arg(k.task.second, 0), top);
  const ir::value all = emit(plan::trips_of(g, k.task.second), top), parts = emit(parts_of, top);
  top.before_tasks = true;
  scope inner(top, top.block->loop(kind_of_tasks(k), index_text(k.parallel) + "_part", zero, count));
  inner.block->head().cost = cost_of_task(k);
  ir::block_builder& b = *inner.block;
  const ir::value which = b.emit(op::quotient, {b.counter(), parts});
  const ir::value number = b.emit(op::remainder, {b.counter(), parts});
  inner.bind_to(g, k.parallel, b.emit(op::add, {first, which}));
  const auto begin = [&](ir::value of) {
    return b.emit(op::add, {start, b.emit(op::quotient, {b.emit(op::mul, {all, of}), parts})});
  };
  const ir::value from = begin(number), next = b.emit(op::add, {number, b.i64(1)});
  const range part{from, begin(next)};
  inner.cut = k.task.second, inner.part = &part;
  const entry only[] = {{stages.front(), 1u}};
  nest(only, inner);
  inner.close();
}

// Which rows a task takes, of the batch that it is for; sizes: of rows, then of each index of the batch.
ir::value kernel_lowering::bind_batch(std::span<const node_id> batch, std::span<const ir::value> sizes, scope& task) {
  ir::block_builder& b = *task.block;
  ir::value left = b.counter();
  if (batch.empty()) return left;
  const ir::value rows = b.emit(op::remainder, {left, sizes[0]});
  left = b.emit(op::quotient, {left, sizes[0]});
  for (std::size_t n = batch.size(); n-- > 0;) {
    const ir::value place = n == 0 ? left : b.emit(op::remainder, {left, sizes[n + 1]});
    if (n > 0) left = b.emit(op::quotient, {left, sizes[n + 1]});
    task.bind_to(g, batch[n], b.emit(op::add, {emit(g.arg(batch[n], 0), task), place}));
  }
  return rows;
}

// A task for each few rows, in a loop of its own, which the register tile takes several of at once.
void kernel_lowering::tasks_of_tiles(const plan::kernel_plan& k, scope& top) {
  node_id low = g.arg(k.parallel, 0), high = g.arg(k.parallel, 1), rows_of_all = plan::trips_of(g, k.parallel);
  const node_id size = integer(g, k.task.rows), none = integer(g, 0), when = stages.front()->when;
  for (const node_id idx : k.cache.inner) {
    rows_of_all = make(g, op::mul, rows_of_all, plan::trips_of(g, idx));
    low = none, high = rows_of_all;
  }
  node_id tasks = plan::blocks_in(g, rows_of_all, k.task.rows);
  std::vector<ir::value> sizes;
  if (!k.cache.batch.empty()) sizes.push_back(emit(tasks, top));
  for (const node_id idx : k.cache.batch) {
    sizes.push_back(emit(plan::trips_of(g, idx), top));
    tasks = make(g, op::mul, tasks, plan::trips_of(g, idx));
  }
  const ir::value zero = emit(none, top),
                  count = emit(when == no_node ? tasks : make(g, op::select, when, tasks, none), top);
  const ir::value step = emit(size, top), start = emit(low, top), stop = emit(high, top);
  scope inner(top, top.block->loop(kind_of_tasks(k), index_text(k.parallel) + "_task", zero, count));
  inner.block->head().cost = cost_of_task(k);
  ir::block_builder& b = *inner.block;
  const ir::value from =
      b.emit(op::add, {start, b.emit(op::mul, {bind_batch(k.cache.batch, sizes, inner), step})});
  const range rows{from, b.emit(op::minimum, {b.emit(op::add, {from, step}), stop})};
  if (k.cache.rows != no_node) {
    cache_tiled(k, rows, inner);
    return inner.close();
  }
  scope row(inner, open(inner, k.parallel, 1, &rows));
  row.block->head().trips = k.task.rows;
  bind(row, k.parallel, 1);
  task(k, row, nullptr);
  row.close();
  inner.close();
}

// A task for each chunk of indices.
void kernel_lowering::tasks_of_chunks(const plan::kernel_plan& k, scope& top) {
  const node_id low = g.arg(k.parallel, 0), high = g.arg(k.parallel, 1), when = stages.front()->when;
  const node_id all = make(g, op::sub, high, low), none = integer(g, 0);
  node_id size = k.task.of_extents != no_node ? k.task.of_extents : integer(g, k.task.chunk);
  if (k.task.most_tasks != 0) {
    const node_id several = plan::blocks_in(g, all, k.task.chunk * k.task.most_tasks);
    size = make(g, op::mul, size, make(g, op::maximum, several, integer(g, 1)));
  }
  const node_id iterations_all = plan::ceil_quotient(g, all, size);
  const ir::value zero = emit(none, top),
                  count = emit(when == no_node ? iterations_all : make(g, op::select, when, iterations_all, none), top);
  const ir::value step = emit(size, top), start = emit(low, top), stop = emit(high, top);
  scope inner(top, top.block->loop(kind_of_tasks(k), index_text(k.parallel) + "_chunk", zero, count));
  inner.block->head().cost = cost_of_task(k);
  inner.block->head().at_once = k.task.most_tasks > 1;
  ir::block_builder& b = *inner.block;
  const auto place = [&](ir::value task) { return b.emit(op::add, {start, b.emit(op::mul, {task, step})}); };
  const ir::value from = place(b.counter());
  const ir::value end = inner.block->head().at_once ? place(b.run_end()) : b.emit(op::add, {from, step});
  const range chunk{from, b.emit(op::minimum, {end, stop})};
  task(k, inner, &chunk);
  inner.close();
}

ir::loop_kind kernel_lowering::kind_of_tasks(const plan::kernel_plan& k) const {
  return plan::is_shared(known, plan, k) ? ir::loop_kind::parallel : ir::loop_kind::serial;
}
shapes::amount kernel_lowering::cost_of_task(const plan::kernel_plan& k) const {
  return known.call().overrides.sharing == sharing::always ? max(k.cost, worth_offering) : k.cost;
}

ir::kernel kernel_lowering::operator()(const plan::kernel_plan& k) {
  stages.clear();
  pending.clear();
  stored.clear();
  for (const int i : k.stages) {
    stages.push_back(&plan.at(i));
    pending.insert(stages.back()->define);
  }
  task_size = k.task.chunk;
  tile = k.tile;
  small = !(plan.cost > known.call().on.wake);
  find_scratch_rows();
  compacted_lists.clear();
  if (stages.front()->sort.passes > 0) return part_of_sort(k, *stages.front());
  ir::kernel_builder builder(k.name);
  scope top(builder.top());
  if (stages.front()->how == plan::way::tiles || stages.front()->how == plan::way::tile_starts) {
    fold_by_tiles(k.part, top);
    return std::move(builder).finish();
  }
  if (stages.front()->how == plan::way::inverse_index && stages.front()->inverse.blocks > 0) {
    list_in_blocks(k, *stages.front(), top);
    return std::move(builder).finish();
  }
  if (stages.front()->how == plan::way::order) {
    sort_keys(k, *stages.front(), top);
    return std::move(builder).finish();
  }
  if (stages.front()->atomic) {
    scatter_by_atomics(*stages.front(), k.part, top);
    return std::move(builder).finish();
  }
  if (stages.front()->inverse.parts.array != no_node && k.part < stages.front()->inverse.parts.kernels()) {
    parts_of_rows(*stages.front(), k.part, top);
    return std::move(builder).finish();
  }
  const node_id when = stages.front()->when;
  if (k.parallel == no_node) {
    if (when == no_node) {
      task(k, top, nullptr);
    } else {
      scope inner(top, top.block->guard(emit(when, top)));
      task(k, inner, nullptr);
      inner.close();
    }
    return std::move(builder).finish();
  }
  if (k.group.rows != no_node)
    group_tiled(k, top);
  else if (k.task.rows > 1)
    tasks_of_tiles(k, top);
  else if (k.task.second != no_node)
    tasks_of_parts(k, top);
  else if (k.task.chunk == 0)
    tasks_of_indices(k, top);
  else
    tasks_of_chunks(k, top);
  return without_unread_rows(std::move(builder).finish());
}

}  // namespace sheaf::inline v0_1::lower
