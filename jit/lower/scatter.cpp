// Scatters: a task owns rows j of the result. It fills them with their base, then walks the bound indices in order
// and updates the rows that are its own; no two tasks write one place, and the order is the same for any split.
#include <algorithm>
#include <cstdlib>
#include <memory>

#include <sheaf/jit/lower/lowering.hpp>
#include <sheaf/jit/numerics/numerics.hpp>
#include <sheaf/jit/plan/algorithms/inverse_index/inverse_index.hpp>
#include <sheaf/jit/plan/algorithms/scatter/scatters.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::lower {

namespace {

using tuning::inverse_index::rows_filled;

// Does it take little to know where updates go, so that it may be asked again for each of a batch?
bool are_places_cheap(graph& g, const stage& s) {
  if (s.how != plan::way::scatter || plan::rows_of(g, s).at == no_node) return false;
  return std::ranges::none_of(plan::places_of(g, s), [&](const plan::fixed_index& f) {
    return plan::any_node(g, f.at, [&](node_id n) {
      return g.kind(n) == op::quotient || g.kind(n) == op::remainder ||
             (is_elementwise(g.kind(n)) && is_floating(g.type(n)));
    });
  });
}

// Does an index of results lie outside of the walk in all that is updated and added, as a batch of images whose pixels
// go to places that are the same for all of it?
bool lies_outside(graph& g, const stage& s, const std::vector<node_id>& walk, node_id idx) {
  if (idx == s.vector || idx == s.indices.back() || !are_places_cheap(g, s)) return false;
  bool read = false, outside = true;
  const index_set inner = plan::set_of(g, walk);
  for (const node_id n : plan::loads_in(g, g.arg(s.body, 0))) {
    if (!plan::uses(g, n, idx)) continue;
    read = true;
    const auto last = [&](const auto& names) {
      int at = 0;
      for (int d = 1; d < g[n].count; ++d)
        if (names(g.free[g.arg(n, d)])) at = d;
      return at;
    };
    const int own = last([&](const index_set& free) { return free.has(g.ordinal(idx)); });
    outside = outside && own < last([&](const index_set& free) { return free.meets(inner); });
  }
  return read && outside;
}

}  // namespace

void kernel_lowering::scatter(scope& task, const range* chunk) {
  const stage& s = *stages.front();
  if (s.group_table) return scatter_to_table(s, task);
  const node_id j = s.owned;
  const range own =
      chunk != nullptr && s.parallel == j ? *chunk : range{emit(g.arg(j, 0), task), emit(g.arg(j, 1), task)};
  if (s.slices.array != no_node) return range_scatter(task, own);
  if (s.inverse.array != no_node) return scatter_by_lists(s, task, own);
  walk_all(stages, task, own);
}

// Every update is asked where it goes.
void kernel_lowering::walk_all(std::span<const stage* const> list, scope& task, const range& own) {
  for (const stage* s : list) fill_rows(*s, task, own);
  walk_updates(list, task, own, nullptr);
}

void kernel_lowering::fill_rows(const stage& s, scope& task, const range& own) {
  node_id value = identity_of(g, monoid_of(g, s.body), g.type(s.body));
  if (s.base != no_node) value = s.base_when == no_node ? s.base : make(g, op::select, s.base_when, s.base, value);
  const auto lanes_along = [&](node_id idx) {
    const node_id trips = plan::trips_of(g, idx);
    int lanes = 64;  // no more than a row of few elements has
    while (is_constant(g, trips) && lanes > 4 && g[trips].attribute <= lanes / 2) lanes /= 2;
    return lanes;
  };
  open_loops loops(*this, task);
  for (const node_id idx : s.indices)
    if (!task.bound.has(g.ordinal(idx)))
      loops.enter(idx, idx == s.indices.back() ? lanes_along(idx) : 1, idx == s.owned ? &own : nullptr);
  store(s, emit(value, *loops.inner), *loops.inner);
  loops.close();
}

// iterations: of the outermost bound index, if not all; then other tasks have the rest, and add to the same rows.
void kernel_lowering::walk_updates(std::span<const stage* const> list, scope& task, const range& own,
                                   const range* iterations) {
  const stage& s = *list.front();
  open_loops loops(*this, task);
  scope*& inner = loops.inner;
  // What decides the rows comes first, the rest of the result's indices innermost.
  const index_set deciding = plan::deciding_of(g, s);
  const std::vector<node_id> walk = plan::walk_of(g, known, s);
  for (const node_id idx : s.indices)
    if (!inner->bound.has(g.ordinal(idx)) && idx != s.owned && !plan::is_fixed(g, s, idx) &&
        (deciding.has(g.ordinal(idx)) || (list.size() == 1 && lies_outside(g, s, walk, idx))))
      loops.enter(idx, 1, nullptr);
  update_walk chunks;
  if (iterations == nullptr) {
    chunks.runs = folds_runs(list, walk.back(), *inner);
    chunks.places = computed_places(list, walk.back(), *inner);
  }
  const bool in_chunks = chunks.runs || !chunks.places.empty();
  chunks.whole = s.parallel != s.owned || s.task.most_tasks == 1;
  for (const node_id idx : walk)
    if (!in_chunks || idx != walk.back()) loops.enter(idx, 1, idx == walk.front() ? iterations : nullptr);
  chunks.update = [&](open_loops& rows, bool inside) {
    enter_rows(s, own, rows, inside);
    for (const stage* each : list) {
      plan::updated_rows places = plan::rows_of(g, *each);
      if (each->how == plan::way::scatter) plan::fixed_of(g, *each, places);
      update(*each, places.rest, *rows.inner, iterations != nullptr);
    }
  };
  if (in_chunks)
    walk_chunks(list, walk.back(), *inner, own, chunks);
  else
    chunks.update(loops, false);
  loops.close();
}

// The loops of a result's indices where an update is known, those that data names first; `inside`: all are asked for.
void kernel_lowering::enter_rows(const stage& s, const range& own, open_loops& loops, bool inside) {
  plan::updated_rows t = plan::rows_of(g, s);
  const auto fixed = s.how == plan::way::scatter ? plan::fixed_of(g, s, t) : std::vector<plan::fixed_index>();
  const node_id j = s.owned;
  scope*& inner = loops.inner;
  if (t.at != no_node) {
    enter_row(j, t.at, own, loops, inside);
  } else {
    // An end that holds for all rows anyway is no condition any more.
    const ir::value low = t.low == no_node ? own.low : emit(t.low, *inner);
    const ir::value high = t.high == no_node ? own.high : emit(t.high, *inner);
    ir::block_builder& b = *inner->block;
    const range both{b.emit(op::maximum, {low, own.low}), b.emit(op::minimum, {high, own.high})};
    loops.enter(j, j == s.vector ? s.lanes : 1, &both);
  }
  for (const auto& [idx, at] : fixed) {
    if (inner->bound.has(g.ordinal(idx)))
      loops.enter(inner->block->guard(emit(make(g, op::equal, idx, at), *inner)));
    else
      enter_row(idx, at, {emit(g.arg(idx, 0), *inner), emit(g.arg(idx, 1), *inner)}, loops, inside);
  }
  for (const node_id idx : s.indices)
    if (!inner->bound.has(g.ordinal(idx))) loops.enter(idx, idx == s.vector ? s.lanes : 1, nullptr);
}

// Goes on where `at` is one of these rows, as that row of idx.
void kernel_lowering::enter_row(node_id idx, node_id at, const range& rows, open_loops& loops, bool inside) {
  const ir::value row = emit(at, *loops.inner);
  if (inside) return loops.inner->bind_to(g, idx, row);
  ir::block_builder& b = *loops.inner->block;
  const ir::value mine =
      b.emit(op::logical_and, {b.emit(op::less_equal, {rows.low, row}), b.emit(op::less, {row, rows.high})});
  loops.enter(b.guard(mine));
  loops.bind(idx, row);
}

// An extremum of numbers, stored by `put`. What is carried from update to update waits for no test of NaN; where few
// updates change it, the branch is seldom taken, and nothing waits for what is not written.
template <class Put>
void kernel_lowering::update_extremum(const stage& s, ir::value old, ir::value added, scope& at, Put put) {
  ir::block_builder& b = *at.block;
  const bool largest = monoid_of(g, s.body) == monoid::max;
  if (s.seldom_changes) {
    const ir::value within = b.emit(op::less_equal, {largest ? added : old, largest ? old : added});
    scope changed(at, b.guard(b.emit(op::logical_not, {within})));
    put(changed, changed.block->emit(row(monoid_of(g, s.body)).combine, {old, added}));
    return changed.close();
  }
  const ir::value beyond = b.emit(op::less, {largest ? old : added, largest ? added : old});
  put(at, b.emit(op::select, {beyond, added, old}));
  scope unordered(at, b.guard(b.emit(op::not_equal, {added, added})));
  put(unordered, added);
  unordered.close();
}

void kernel_lowering::update(const stage& s, node_id rest, scope& at, bool atomic) {
  open_loops guards(*this, at);
  scope*& inner = guards.inner;
  const bool lanes_decide = inner->lane != no_node && g.free[rest].has(g.ordinal(inner->lane));
  ir::value mask = ir::none;
  if (lanes_decide) {
    mask = emit(rest, *inner);
  } else if (!is_true(g, rest)) {
    guards.enter(inner->block->guard(emit(rest, *inner)));
  }
  const std::int32_t id = buffers.at(s.define);
  std::vector<node_id> subscripts;
  for (const node_id idx : s.indices) subscripts.push_back(position_of(idx));
  std::vector<ir::value> list;
  const ir::access how = subscripts_of(id, subscripts, *inner, list);
  const ir::value added = emit(g.arg(s.body, 0), *inner);
  if (atomic) {
    inner->block->add_to(id, list, added, how, mask);
  } else {
    const ir::value old = inner->block->load(id, g.type(s.body), list, how, mask);
    const monoid fold = monoid_of(g, s.body);
    const auto put = [&](scope& in, ir::value x) { store(s, x, in, mask); };
    if ((fold == monoid::max || fold == monoid::min) && inner->lane == no_node && is_floating(g.type(s.body)))
      update_extremum(s, old, added, *inner, put);
    else
      put(*inner, inner->block->emit(row(fold).combine, {old, added}));
  }
  guards.close();
}

// Where in a table an update goes, from its first row on, and whether it is one of its rows: one comparison without
// sign. Rows that are cast from 32 bits or from floating numbers stay so narrow: what a cast clamps is no row.
std::pair<ir::value, ir::value> kernel_lowering::place_in_table(const stage& s, node_id at, std::int64_t rows,
                                                                scope& inner) {
  ir::block_builder& b = *inner.block;
  const node_id low = g.arg(s.owned, 0), from = plan::without_cast(g, at);
  const element type = g.type(from);
  const bool number = type == element::f32 || type == element::f64 || type == element::i32 || type == element::u8 ||
                      type == element::i8 || type == element::i16 || type == element::u16;
  const bool narrow = from != at && number && is_constant(g, low) && std::abs(g[low].attribute) < 1 << 30;
  if (!narrow) {
    const ir::value first = emit(low, inner), place = b.emit(op::sub, {emit(at, inner), first});
    const ir::value end = b.constant(element::u64, rows), row = b.cast(element::u64, place);
    return {place, b.emit(op::less, {row, end})};
  }
  const ir::value value = emit(from, inner), found = type == element::i32 ? value : b.cast(element::i32, value);
  const ir::value first = b.constant(element::i32, g[low].attribute), end = b.constant(element::u32, rows);
  const ir::value row = b.cast(element::u32, b.emit(op::sub, {found, first}));
  return {b.cast(element::i64, row), b.emit(op::less, {row, end})};
}

// Sums in shared memory: of numbers of one byte, or of ones, in 32 bits. The lanes of the innermost index add to the
// table of their group, sums of integers in any order, and it is stored at the end. Of what goes in the order of lanes
// few rows have several results each: lanes that go to one at once wait for each other.
void kernel_lowering::scatter_to_table(const stage& s, scope& task) {
  using numerics::tables::lanes_of_groups;
  const node_id value = g.arg(s.body, 0), plain = plan::without_cast(g, value);
  const std::int64_t rows = g[plan::trips_of(g, s.owned)].attribute;
  const element of = g.type(s.body);
  const monoid fold = monoid_of(g, s.body);
  const bool sums_in_order = is_floating(of) || fold != monoid::sum;
  const bool narrow = !sums_in_order && (row(g.type(plain)).bytes == 1 ||
                                           (is_constant(g, value) && std::abs(g[value].attribute) < 128));
  const element type = narrow ? element::i32 : numerics::tables::in_table(fold, of, rows);
  const std::int64_t sums = sums_in_order ? numerics::tables::sums_of_row(rows) : 1;
  const std::int32_t table = ir::add_local(code, "table", type, rows * sums);
  ir::block_builder& b = *task.block;
  // A large table is a block's: of so many threads each has several updates under way.
  const int lanes = !sums_in_order && rows > 512 ? 4 * lanes_of_groups : lanes_of_groups;
  const ir::value none = sums_in_order ? emit(identity_of(g, fold, type), task) : b.constant(type, 0);
  ir::block_builder clear = b.loop(ir::loop_kind::vector, "clear", b.i64(0), b.i64(rows * sums), lanes_of_groups);
  clear.store(table, {clear.counter()}, none, ir::access::contiguous);
  clear.close();
  const plan::updated_rows t = plan::rows_of(g, s);
  const std::vector<node_id> walk = plan::nesting_order(g, plan::bound_indices(g, s.body));
  const ir::value low = emit(g.arg(s.owned, 0), task);
  open_loops loops(*this, task);
  for (const node_id idx : walk) loops.enter(idx, idx == walk.back() ? lanes : 1);
  ir::block_builder& c = *loops.inner->block;
  auto [at, mine] = place_in_table(s, t.at, rows, *loops.inner);
  if (!is_true(g, t.rest)) mine = c.emit(op::logical_and, {mine, emit(t.rest, *loops.inner)});
  if (sums > 1) {
    const ir::value which = c.emit(op::bit_and, {emit(walk.back(), *loops.inner), c.i64(sums - 1)});
    at = c.emit(op::add, {at, c.emit(op::mul, {which, c.i64(rows)})});
  }
  const ir::value added = emit(value, *loops.inner);
  c.add_to(table, {at}, type != of ? c.cast(type, added) : added, ir::access::gather, mine, fold);
  loops.close();
  open_loops results(*this, task);
  results.enter(s.owned, lanes_of_groups);
  ir::block_builder& d = *results.inner->block;
  const ir::value place = d.emit(op::sub, {d.counter(), low});
  ir::value found = ir::none;
  for (std::int64_t n = 0; n < sums; ++n) {
    const ir::value next = n == 0 ? place : d.emit(op::add, {place, d.i64(n * rows)});
    const ir::value one = d.load(table, type, {next}, ir::access::contiguous);
    found = n == 0 ? one : d.emit(row(fold).combine, {found, one});
  }
  store(s, type != of ? d.cast(of, found) : found, *results.inner, ir::none, true);
  results.close();
}

// Tasks fill rows, and then each adds the updates of one iteration of the outermost bound index.
void kernel_lowering::scatter_by_atomics(const stage& s, int part, scope& top) {
  ir::block_builder& b = *top.block;
  const node_id over = part == 0 ? s.owned : plan::walk_of(g, known, s).front();
  const range all{emit(g.arg(s.owned, 0), top), emit(g.arg(s.owned, 1), top)};
  ir::value low = emit(g.arg(over, 0), top), high = emit(g.arg(over, 1), top);
  if (s.when != no_node) high = b.emit(op::select, {emit(s.when, top), high, low});
  const std::int64_t size = part == 0 && s.indices.back() == s.owned ? rows_filled : 1;
  const ir::value count =
      b.emit(op::quotient, {b.emit(op::add, {b.emit(op::sub, {high, low}), b.i64(size - 1)}), b.i64(size)});
  scope task(top, b.loop(ir::loop_kind::parallel, index_text(over) + "_task", b.i64(0), count));
  ir::block_builder& c = *task.block;
  const ir::value first = c.emit(op::add, {low, c.emit(op::mul, {c.counter(), c.i64(size)})});
  const range own{first, c.emit(op::minimum, {c.emit(op::add, {first, c.i64(size)}), high})};
  const stage* const alone[] = {&s};
  part == 0 ? fill_rows(s, task, own) : walk_updates(alone, task, all, &own);
  task.close();
}

}  // namespace sheaf::inline v0_1::lower
