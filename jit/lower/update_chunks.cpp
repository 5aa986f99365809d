// Updates in chunks. Places that are computed of data, as the bins of a histogram, are computed in lanes, a chunk at a
// time. Runs of one key: of ids that ascend, neighbours mostly go to one row. Where that is so of a chunk of updates,
// groups that go to one row are folded in lanes, and update it once; all others do one after the other.
#include <algorithm>

#include <sheaf/jit/lower/lowering.hpp>
#include <sheaf/jit/numerics/numerics.hpp>
#include <sheaf/jit/plan/algorithms/scatter/scatters.hpp>
#include <sheaf/jit/plan/cost.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::lower {

using numerics::tables::asked_of_chunk;
using numerics::tables::chunk_of_runs;
using numerics::tables::lanes_of_runs;
using tuning::scatter::updates_unrolled;

// May updates along the index be folded in lanes? Of each a number is updated, at a row that its data names.
bool kernel_lowering::folds_runs(std::span<const stage* const> list, node_id idx, const scope& at) {
  if (known.call().gpu || at.lane != no_node || known.trips(idx) < 2 * chunk_of_runs) return false;
  return std::ranges::all_of(list, [&](const stage* s) {
    const monoid fold = monoid_of(g, s->body);
    if (s->how != plan::way::scatter || (fold != monoid::sum && fold != monoid::max && fold != monoid::min))
      return false;
    plan::updated_rows rows = plan::rows_of(g, *s);
    if (!plan::fixed_of(g, *s, rows).empty() || rows.at == no_node || !is_true(g, rows.rest)) return false;
    for (const node_id one : s->indices)
      if (one != s->owned && !at.bound.has(g.ordinal(one))) return false;
    const node_id value = g.arg(s->body, 0);
    index_set around = plan::set_of(g, plan::bound_indices(g, s->body));
    around |= at.bound;
    if (!g.free[value].within(around)) return false;  // it depends on the row
    return g.type(value) == g.type(s->body) && g.type(value) != element::boolean && plan::uses(g, rows.at, idx) &&
           !plan::holds(g, value, op::reduce) && !plan::holds(g, rows.at, op::reduce) &&
           plan::may_vectorise(g, s->body, idx);
  });
}

// Of the first updates of a chunk, do most go to the row of the one before?
ir::value kernel_lowering::has_runs(node_id row, node_id idx, scope& at, ir::value first) {
  plan::replacement put(g, proofs::kept);
  put.add(idx, plan::plus(g, idx, 1));
  const node_id same = make(g, op::equal, row, put(row));
  const ir::value count = at.block->accumulator(element::i64, monoid::sum, true);
  const range places{first, at.block->emit(op::add, {first, at.block->i64(asked_of_chunk)})};
  scope inner(at, open(at, idx, asked_of_chunk, &places));
  inner.block->head().whole = true;
  inner.block->head().trips = asked_of_chunk;
  bind(inner, idx, asked_of_chunk);
  inner.block->combine(count, emit(make(g, op::select, same, integer(g, 1), integer(g, 0)), inner));
  inner.close();
  return at.block->emit(op::less, {at.block->i64(asked_of_chunk / 2), at.block->fold_lanes(count)});
}

// The places of updates that take several operations each: where data names their rows.
std::vector<node_id> kernel_lowering::computed_places(std::span<const stage* const> list, node_id idx,
                                                      const scope& at) {
  std::vector<node_id> found;
  if (known.call().gpu || at.lane != no_node || known.trips(idx) < 2 * chunk_of_runs) return found;
  const auto add = [&](node_id place) {
    bool computed = plan::is_slow(g, place);
    plan::for_each_node(g, place, [&](node_id n) {
      computed = computed || (g.kind(n) == op::cast && is_floating(g.type(g.arg(n, 0))));
    });
    if (computed && g.type(place) == element::i64 && plan::uses(g, place, idx) && !plan::holds(g, place, op::reduce) &&
        plan::may_vectorise(g, place, idx) && std::ranges::find(found, place) == found.end())
      found.push_back(place);
  };
  for (const stage* s : list) {
    if (s->how != plan::way::scatter) continue;
    plan::updated_rows rows = plan::rows_of(g, *s);
    if (rows.at == no_node) continue;
    add(rows.at);
    for (const auto& [index, place] : plan::fixed_of(g, *s, rows)) add(place);
  }
  return found;
}

// Updates of a chunk, one after the other; its places first, if they are computed.
void kernel_lowering::walk_chunk(node_id idx, scope& chunk, const range& updates, std::span<const node_id> places,
                                 const std::function<void(open_loops&)>& update) {
  std::vector<std::int32_t> rows;
  while (rows.size() < places.size()) rows.push_back(ir::add_local(code, "places", element::i64, chunk_of_runs));
  if (!rows.empty()) {
    scope lanes(chunk, open(chunk, idx, lanes_of_runs, &updates));
    lanes.block->head().whole = true;
    lanes.block->head().trips = static_cast<double>(chunk_of_runs);
    bind(lanes, idx, lanes_of_runs);
    const ir::value at = lanes.block->emit(op::sub, {lanes.block->counter(), updates.low});
    for (std::size_t k = 0; k < rows.size(); ++k)
      lanes.block->store(rows[k], {at}, emit(places[k], lanes), ir::access::contiguous);
    lanes.close();
  }
  ir::block_builder& c = *chunk.block;
  open_loops one(*this, chunk);
  one.enter(c.loop(ir::loop_kind::serial, index_text(idx), c.i64(0), c.i64(chunk_of_runs)));
  ir::block_builder& b = *one.inner->block;
  b.head().unroll = updates_unrolled;
  one.inner->bind_to(g, idx, b.emit(op::add, {updates.low, b.counter()}));
  for (std::size_t k = 0; k < rows.size(); ++k)
    one.inner->set(places[k], b.load(rows[k], element::i64, {b.counter()}, ir::access::uniform));
  update(one);
  one.close();
}

// update: where one is known.
void kernel_lowering::walk_chunks(std::span<const stage* const> list, node_id idx, scope& at, const range& own,
                                  const update_walk& w) {
  ir::block_builder& b = *at.block;
  const ir::value low = emit(g.arg(idx, 0), at), high = emit(g.arg(idx, 1), at);
  const ir::value zero = b.i64(0), size = b.i64(chunk_of_runs);
  const ir::value count = b.emit(op::quotient, {b.emit(op::maximum, {b.emit(op::sub, {high, low}), zero}), size});
  scope chunk(at, b.loop(ir::loop_kind::serial, index_text(idx) + "_chunk", zero, count));
  ir::block_builder& c = *chunk.block;
  const ir::value first = c.emit(op::add, {low, c.emit(op::mul, {c.counter(), size})});
  const range updates{first, c.emit(op::add, {first, size})};
  if (w.runs) {
    const ir::value runs = has_runs(plan::rows_of(g, *list.front()).at, idx, chunk, first);
    scope grouped(chunk, c.guard(runs));
    walk_groups(list, idx, grouped, first, own, w.update);
    grouped.close();
    scope apart(chunk, c.guard(c.emit(op::logical_not, {runs})));
    walk_chunk(idx, apart, updates, w.places, w.update);
    apart.close();
  } else {
    walk_chunk(idx, chunk, updates, w.places, w.update);
  }
  chunk.close();
  open_loops left(*this, at);
  const range rest{b.emit(op::add, {low, b.emit(op::mul, {count, size})}), high};
  left.enter(idx, 1, &rest);
  w.update(left);
  left.close();
}

// A chunk from its first update on, by groups.
void kernel_lowering::walk_groups(std::span<const stage* const> list, node_id idx, scope& at, ir::value begin_of_chunk,
                                  const range& own, const std::function<void(open_loops&)>& update) {
  const stage& s = *list.front();
  const node_id row = plan::rows_of(g, s).at;
  ir::block_builder& b = *at.block;
  const ir::value zero = b.i64(0), size = b.i64(lanes_of_runs), count = b.i64(chunk_of_runs / lanes_of_runs);
  scope group(at, b.loop(ir::loop_kind::serial, index_text(idx) + "_run", zero, count));
  ir::block_builder& c = *group.block;
  const ir::value first = c.emit(op::add, {begin_of_chunk, c.emit(op::mul, {c.counter(), size})});
  const range updates{first, c.emit(op::add, {first, size})};
  const ir::value last = c.emit(op::add, {first, c.i64(lanes_of_runs - 1)});
  const auto row_at = [&](ir::value place) {
    const node_id one = plan::fresh_index(g, idx, g.arg(idx, 0), g.arg(idx, 1));
    group.bind_to(g, one, place);
    plan::replacement put(g, proofs::kept);
    put.rename(idx, one);
    return put(row);
  };
  const node_id begin = row_at(first);
  const ir::value key = emit(begin, group), other = emit(row_at(last), group);
  const ir::value run = c.accumulator(element::boolean, monoid::any, false);
  {
    scope alike(group, c.guard(c.emit(op::equal, {key, other})));
    const ir::value differ = alike.block->accumulator(element::boolean, monoid::any, true);
    std::vector<ir::value> cells;
    for (const stage* each : list)
      cells.push_back(alike.block->accumulator(g.type(each->body), monoid_of(g, each->body), true));
    scope lanes(alike, open(alike, idx, lanes_of_runs, &updates));
    lanes.block->head().whole = true;
    lanes.block->head().trips = lanes_of_runs;
    bind(lanes, idx, lanes_of_runs);
    lanes.block->combine(differ, lanes.block->emit(op::not_equal, {emit(row, lanes), key}));
    for (std::size_t k = 0; k < list.size(); ++k) lanes.block->combine(cells[k], emit(g.arg(list[k]->body, 0), lanes));
    lanes.close();
    const ir::value one = alike.block->emit(op::logical_not, {alike.block->fold_lanes(differ)});
    alike.block->combine(run, one);
    open_loops updated(*this, alike);
    updated.enter(alike.block->guard(one));
    enter_row(s.owned, begin, own, updated);
    for (std::size_t k = 0; k < list.size(); ++k) {
      scope& inside = *updated.inner;
      std::vector<node_id> subscripts;
      for (const node_id place : list[k]->indices) subscripts.push_back(position_of(place));
      std::vector<ir::value> places;
      const ir::access how = subscripts_of(buffers.at(list[k]->define), subscripts, inside, places);
      const ir::value old = inside.block->load(buffers.at(list[k]->define), g.type(list[k]->body), places, how);
      const ir::value folded = inside.block->fold_lanes(cells[k]);
      store(*list[k], inside.block->emit(sheaf::row(monoid_of(g, list[k]->body)).combine, {old, folded}), inside);
    }
    updated.close();
    alike.close();
  }
  open_loops apart(*this, group);
  apart.enter(c.guard(c.emit(op::logical_not, {c.read(run)})));
  apart.enter(apart.inner->block->loop(ir::loop_kind::serial, index_text(idx), zero, size));
  ir::block_builder& one = *apart.inner->block;
  one.head().unroll = updates_unrolled;
  apart.inner->bind_to(g, idx, one.emit(op::add, {first, one.counter()}));
  update(apart);
  apart.close();
  group.close();
}

}  // namespace sheaf::inline v0_1::lower
