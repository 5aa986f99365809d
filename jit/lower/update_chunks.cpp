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
using tuning::scatter::asked_at_once;
using tuning::scatter::asked_unrolled;
using tuning::scatter::lanes_of_asking;
using tuning::scatter::least_asked_bytes;
using tuning::scatter::rows_ahead;
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
    const auto is_rounded = [&](node_id n) { return g.kind(n) == op::cast && is_floating(g.type(g.arg(n, 0))); };
    const bool computed = plan::is_slow(g, place) || plan::any_node(g, place, is_rounded);
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

namespace {

// A chunk of updates, one after the other; its places first, if they are computed. Where all rows are the task's own,
// a part of the chunk asks in lanes whether its updates go to any others, and if not, none of them asks: lanes of keys
// come from memory sooner than keys one by one. Rows beyond L2 are prefetched, for sums of data: counts and extrema,
// which seldom write, keep enough loads on their way.
class chunk_of_updates {
 public:
  chunk_of_updates(kernel_lowering& k, std::span<const stage* const> list, node_id idx, const range& own,
                   const kernel_lowering::update_walk& w)
      : k_(k), g_(k.g), list_(list), idx_(idx), own_(own), w_(w) {}

  void operator()(scope& chunk, const range& updates) {
    low_ = updates.low;
    rows_.clear();
    if (!w_.places.empty()) compute_places(chunk, updates);
    const shapes::amount bytes = bytes_of_rows(chunk);
    far_ = bytes > k_.known.call().on.second_cache;
    prefetches_ = far_ && std::ranges::all_of(list_, [&](const stage* s) {
                    return monoid_of(g_, s->body) == monoid::sum && reads(*s);
                  });
    ir::block_builder& b = *chunk.block;
    if (!asks_first(bytes)) return walk(chunk, b.i64(0), chunk_of_runs, false);
    const ir::value count = b.i64(chunk_of_runs / asked_at_once), size = b.i64(asked_at_once);
    scope part(chunk, b.loop(ir::loop_kind::serial, k_.index_text(idx_) + "_part", b.i64(0), count));
    const ir::value first = part.block->emit(op::mul, {part.block->counter(), size});
    const ir::value outside = any_outside(part, first);
    scope inside(part, part.block->guard(part.block->emit(op::logical_not, {outside})));
    walk(inside, first, asked_at_once, true);
    inside.close();
    scope some(part, part.block->guard(outside));
    walk(some, first, asked_at_once, false);
    some.close();
    part.close();
  }

 private:
  void compute_places(scope& chunk, const range& updates) {
    while (rows_.size() < w_.places.size())
      rows_.push_back(ir::add_local(k_.code, "places", element::i64, chunk_of_runs));
    scope lanes(chunk, k_.open(chunk, idx_, lanes_of_runs, &updates));
    lanes.block->head().whole = true;
    lanes.block->head().trips = static_cast<double>(chunk_of_runs);
    k_.bind(lanes, idx_, lanes_of_runs);
    const ir::value at = lanes.block->emit(op::sub, {lanes.block->counter(), updates.low});
    for (std::size_t n = 0; n < rows_.size(); ++n)
      lanes.block->store(rows_[n], {at}, k_.emit(w_.places[n], lanes), ir::access::contiguous);
    lanes.close();
  }
  bool names_all(const stage& s, const scope& at) const {
    if (s.how != plan::way::scatter || plan::rows_of(g_, s).at == no_node) return false;
    const auto named = plan::places_of(g_, s);
    return std::ranges::all_of(s.indices, [&](node_id one) {
      return at.bound.has(g_.ordinal(one)) || std::ranges::find(named, one, &plan::fixed_index::index) != named.end();
    });
  }
  bool reads(const stage& s) const { return plan::holds(g_, g_.arg(s.body, 0), op::load); }
  // Bytes of the rows that may be updated; 0: an update names not all of its place.
  shapes::amount bytes_of_rows(const scope& at) const {
    shapes::amount bytes = 0;
    for (const stage* s : list_) {
      if (!names_all(*s, at)) return 0;
      index_set own;
      for (const node_id one : s->indices)
        if (!at.bound.has(g_.ordinal(one))) own.insert(g_.ordinal(one));
      bytes += k_.known.trips(own) * row(g_.type(s->define)).bytes;
    }
    return bytes;
  }
  // Of keys as they lie in memory beside values that do, to one table that L2 holds: those of a few rows wait for each
  // other anyway, and those of computed places have come by L1.
  bool asks_first(const shapes::amount& bytes) const {
    if (!w_.whole || far_ || !rows_.empty() || list_.size() > 1 || bytes < least_asked_bytes) return false;
    if (!reads(*list_.front())) return false;
    return std::ranges::all_of(plan::places_of(g_, *list_.front()),
                               [&](const plan::fixed_index& f) { return plan::may_vectorise(g_, f.at, idx_); });
  }

  // Of the part of the chunk from `first` on.
  ir::value any_outside(scope& at, ir::value first) {
    ir::block_builder& b = *at.block;
    const ir::value any = b.accumulator(element::boolean, monoid::any, true);
    const ir::value low = b.emit(op::add, {low_, first}), high = b.emit(op::add, {low, b.i64(asked_at_once)});
    const range part{low, high};
    scope lanes(at, k_.open(at, idx_, lanes_of_asking, &part));
    lanes.block->head().whole = true;
    lanes.block->head().trips = static_cast<double>(asked_at_once);
    k_.bind(lanes, idx_, lanes_of_asking);
    for (const auto& [index, place] : plan::places_of(g_, *list_.front())) {
      const ir::value x = k_.emit(place, lanes);
      range rows = own_;
      if (index != list_.front()->owned) rows = {k_.emit(g_.arg(index, 0), at), k_.emit(g_.arg(index, 1), at)};
      lanes.block->combine(any, lanes.block->emit(op::less, {x, rows.low}));
      lanes.block->combine(any, lanes.block->emit(op::less_equal, {rows.high, x}));
    }
    lanes.close();
    return b.fold_lanes(any);
  }

  void walk(scope& at, ir::value first, std::int64_t count, bool inside) {
    open_loops one(k_, at);
    ir::block_builder& c = *at.block;
    one.enter(c.loop(ir::loop_kind::serial, k_.index_text(idx_), first, c.emit(op::add, {first, c.i64(count)})));
    ir::block_builder& b = *one.inner->block;
    b.head().unroll = inside ? asked_unrolled : updates_unrolled;
    one.inner->bind_to(g_, idx_, b.emit(op::add, {low_, b.counter()}));
    if (prefetches_) prefetch_rows(*one.inner);
    for (std::size_t n = 0; n < rows_.size(); ++n)
      one.inner->set(w_.places[n], b.load(rows_[n], element::i64, {b.counter()}, ir::access::uniform));
    w_.update(one, inside);
    one.close();
  }
  // Those of a later update of the chunk.
  void prefetch_rows(scope& at) {
    ir::block_builder& b = *at.block;
    const ir::value next = b.emit(op::add, {b.counter(), b.i64(rows_ahead)});
    const ir::value number = b.emit(op::minimum, {next, b.i64(chunk_of_runs - 1)});
    scope soon(at, at.block);
    const node_id later = plan::fresh_index(g_, idx_, g_.arg(idx_, 0), g_.arg(idx_, 1));
    soon.bind_to(g_, later, b.emit(op::add, {low_, number}));
    plan::replacement put(g_, proofs::kept);
    put.rename(idx_, later);
    for (std::size_t n = 0; n < rows_.size(); ++n)
      soon.set(put(w_.places[n]), b.load(rows_[n], element::i64, {number}, ir::access::uniform));
    for (const stage* s : list_) {
      scope there(soon, at.block);
      for (const auto& [index, place] : plan::places_of(g_, *s)) there.bind_to(g_, index, k_.emit(put(place), soon));
      std::vector<node_id> subscripts;
      for (const node_id one : s->indices) subscripts.push_back(k_.position_of(one));
      std::vector<ir::value> places;
      const ir::access how = k_.subscripts_of(k_.buffers.at(s->define), subscripts, there, places);
      b.prefetch(k_.buffers.at(s->define), std::move(places), how);
    }
  }

  kernel_lowering& k_;
  graph& g_;
  std::span<const stage* const> list_;
  node_id idx_;
  const range& own_;
  const kernel_lowering::update_walk& w_;
  std::vector<std::int32_t> rows_;  // buffers of computed places
  ir::value low_ = ir::none;        // the chunk's first update
  bool far_ = false, prefetches_ = false;
};

}  // namespace

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
  chunk_of_updates one_by_one(*this, list, idx, own, w);
  if (w.runs) {
    const ir::value runs = has_runs(plan::rows_of(g, *list.front()).at, idx, chunk, first);
    scope grouped(chunk, c.guard(runs));
    walk_groups(list, idx, grouped, first, own, w);
    grouped.close();
    scope apart(chunk, c.guard(c.emit(op::logical_not, {runs})));
    one_by_one(apart, updates);
    apart.close();
  } else {
    one_by_one(chunk, updates);
  }
  chunk.close();
  open_loops left(*this, at);
  const range rest{b.emit(op::add, {low, b.emit(op::mul, {count, size})}), high};
  left.enter(idx, 1, &rest);
  w.update(left, false);
  left.close();
}

// A chunk from its first update on, by groups.
void kernel_lowering::walk_groups(std::span<const stage* const> list, node_id idx, scope& at, ir::value begin_of_chunk,
                                  const range& own, const update_walk& w) {
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
  w.update(apart, false);
  apart.close();
  group.close();
}

}  // namespace sheaf::inline v0_1::lower
