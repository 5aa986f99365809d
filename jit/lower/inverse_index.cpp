// Scatters with lists of their updates: first which updates go to which chunk of rows, then, chunk by chunk, the rows.
// Within a task the updates are sorted once more, by row, and each row is folded in registers and written once. Both
// sorts keep the order in which updates are walked, so no result depends on how chunks are shared.
#include <sheaf/jit/lower/inverse_index.hpp>

#include <memory>

#include <sheaf/jit/lower/sort.hpp>
#include <sheaf/jit/plan/algorithms/scatter/scatters.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::lower {

using plan::inverse_index_form;

using namespace tuning::inverse_index;

// A counting sort by chunk; nothing is placed where there is no room for all.
void kernel_lowering::list_updates(const stage& s, scope& top) {
  inverse_index_lowering a = inverse_index_of(*this, s.inverse, buffers.at(s.define), top);
  ir::block_builder& b = *top.block;
  const ir::value zero = b.i64(0), all = b.accumulator(element::i64, monoid::sum, false);
  {
    ir::block_builder c = b.loop(ir::loop_kind::vector, "clear", zero, a.count(b), 32);
    c.store(a.array, {c.counter()}, c.i64(0), ir::access::contiguous);
    c.close();
  }
  each_update(a, top, [&](scope& in, ir::value chunk) {
    ir::block_builder& c = *in.block;
    const ir::value place = a.next(c, chunk);
    a.put(c, place, a.next(c, a.at(c, place)));
  });
  {
    ir::block_builder c = b.loop(ir::loop_kind::serial, "chunk", b.i64(1), a.count(b));
    const ir::value count = a.at(c, c.counter());
    a.put(c, c.counter(), c.read(all));
    c.combine(all, count);
    c.close();
  }
  a.put(b, a.count(b), b.read(all));
  scope room(top, b.guard(b.emit(op::less_equal, {b.read(all), a.room})));
  each_update(a, room, [&](scope& in, ir::value chunk) {
    ir::block_builder& c = *in.block;
    const ir::value place = a.next(c, chunk), position = a.at(c, place);
    for (std::size_t p = 0; p < a.l.named.size(); ++p) a.put(c, a.plane(c, p, position), emit(a.l.named[p], in));
    a.put(c, place, a.next(c, position));
  });
  room.close();
}

namespace {

// The same with the innermost index in lanes.
void lanes_of_updates(inverse_index_lowering& a, scope& s, const range& iterations, std::int64_t most,
                      const lanes_body& body) {
  const auto& walk = a.l.walk;
  open_loops loops(a.k, s);
  for (const node_id idx : walk) {
    const bool outer = idx == walk.front();
    const shapes::amount trips = outer ? shapes::amount(most) : a.k.known.trips(idx);
    loops.enter(idx, idx == walk.back() ? lanes_of_walk(a.k.known, trips) : 1, outer ? &iterations : nullptr);
  }
  ir::block_builder& b = *loops.inner->block;
  const ir::value at = in_lanes(b, a.k.emit(a.l.at, *loops.inner));
  const ir::value low = b.emit(op::less_equal, {a.start, at}), high = b.emit(op::less, {at, a.stop});
  const ir::value chunk = b.emit(op::quotient, {b.emit(op::sub, {at, a.start}), a.size});
  body(*loops.inner, chunk, b.emit(op::logical_and, {low, high}));
  loops.close();
}

}  // namespace

void kernel_lowering::sort_inverse_index(const stage& s, int part, scope& top) {
  inverse_index_lowering a = inverse_index_of(*this, s.inverse, buffers.at(s.define), top);
  list_to_sort list{.array = a.array};
  list.walk = [&](scope& at, const range& iterations, const lanes_body& body) {
    lanes_of_updates(a, at, iterations, s.sort.iterations, body);
  };
  const std::vector<node_id>& values = s.inverse.values.empty() ? s.inverse.named : s.inverse.values;
  list.index = [&](scope& in, std::size_t p) { return emit(values[p], in); };
  list.place = [&](ir::block_builder& b, std::size_t p, ir::value n) { return a.plane(b, p, n); };
  sort(s, part, list, top);
}

void kernel_lowering::scatter_by_lists(const stage& s, scope& task, const range& own) {
  if (s.inverse.all_fit) return rows_of_inverse_index(s, task, own);
  const inverse_index_lowering a = inverse_index_of(*this, s.inverse, buffers.at(s.inverse.array), task);
  ir::block_builder& b = *task.block;
  const ir::value listed = b.emit(op::less_equal, {a.at(b, a.count(b)), a.room});
  scope lists(task, b.guard(listed));
  rows_of_inverse_index(s, lists, own);
  lists.close();
  scope none(task, b.guard(b.emit(op::logical_not, {listed})));
  const stage* const alone[] = {&s};
  walk_all(alone, none, own);
  none.close();
}

namespace {

// The rows of a task and where in the list the updates of each begin.
struct task_of_rows {
  const inverse_index_lowering& a;
  const reads_of_updates reads;  // to find the row
  range own, listed;
  std::int32_t begins;  // of row r at r + 1 until it is placed, then the end
  ir::value zero, rows;

  ir::value at(ir::block_builder& b, ir::value r) const { return b.load(begins, element::i64, {r}); }
  range of(ir::block_builder& b, ir::value r) const {
    if (!a.l.by_row)
      return {b.emit(op::add, {listed.low, at(b, r)}), b.emit(op::add, {listed.low, at(b, a.next(b, r))})};
    const ir::value row = b.emit(op::add, {b.emit(op::sub, {own.low, a.start}), r});
    return {a.at(b, row), a.at(b, a.next(b, row))};
  }
  // Runs body(scope, n, 1 + row) for update n of the task.
  template <class Body>
  void each(scope& s, bool first, Body&& body) const {
    scope iteration(s, s.block->loop(ir::loop_kind::serial, "update", listed.low, listed.high));
    const ir::value n = iteration.block->counter();
    if (first) reads.prefetch(a, iteration, n, listed.high, false);
    a.bind(iteration, n);
    const ir::value row = iteration.block->emit(op::sub, {a.k.emit(a.l.at, iteration), own.low});
    body(*iteration.block, n, a.next(*iteration.block, row));
    iteration.close();
  }
  void sort(scope& s) const {
    ir::block_builder& b = *s.block;
    const ir::value one = b.i64(1), end = b.emit(op::add, {rows, one});
    ir::block_builder clear = b.loop(ir::loop_kind::vector, "clear", zero, end, 32);
    clear.store(begins, {clear.counter()}, clear.i64(0), ir::access::contiguous);
    clear.close();
    each(s, true, [&](ir::block_builder& c, ir::value, ir::value row) {
      c.store(begins, {row}, a.next(c, at(c, row)));
    });
    const ir::value all = b.accumulator(element::i64, monoid::sum, false);
    ir::block_builder sum = b.loop(ir::loop_kind::vector, "row", one, end, lanes_of_counts);
    const ir::value count = sum.load(begins, element::i64, {sum.counter()}, ir::access::contiguous);
    sum.store(begins, {sum.counter()}, sum.emit(op::sub, {sum.scan_lanes(all, count), count}), ir::access::contiguous);
    sum.close();
    each(s, false, [&](ir::block_builder& c, ir::value n, ir::value row) {
      const ir::value position = at(c, row);
      a.put(c, a.plane(c, a.l.named.size(), c.emit(op::add, {listed.low, position})), n);
      c.store(begins, {row}, a.next(c, position));
    });
  }
};

}  // namespace

std::int32_t kernel_lowering::begins_of(const stage& s) {
  return ir::add_local(code, "begins", element::i64, s.inverse.chunk + 64);
}

void kernel_lowering::rows_of_inverse_index(const stage& s, scope& task, const range& own) {
  const inverse_index_lowering a = inverse_index_of(*this, s.inverse, buffers.at(s.inverse.array), task);
  ir::block_builder& b = *task.block;
  const ir::value chunk = b.emit(op::quotient, {b.emit(op::sub, {own.low, a.start}), a.size});
  const ir::value zero = b.i64(0), first = a.at(b, chunk);
  const bool by_row = s.inverse.by_row;
  const ir::value last = a.at(b, by_row ? b.emit(op::sub, {own.high, a.start}) : a.next(b, chunk));
  const task_of_rows rows{a, {*this, s.inverse, no_node, {s.inverse.at}}, own, {first, last},
                          by_row ? -1 : begins_of(s), zero, b.emit(op::sub, {own.high, own.low})};
  if (!by_row) rows.sort(task);
  // Data that an update reads at its own row is read once for all of them.
  const plan::term_of_row term = plan::in_row(g, s);
  const reads_of_updates reads(*this, s.inverse, s.vector, {term.value, term.rest});
  const monoid fold = monoid_of(g, s.body);
  const element type = g.type(s.body);
  scope row(task, open(task, s.owned, 1, &own));
  bind(row, s.owned, 1);
  ir::block_builder& c = *row.block;
  const ir::value r = c.emit(op::sub, {c.counter(), own.low});
  const range updates = rows.of(c, r);
  const ir::value any = c.emit(op::less, {updates.low, updates.high});
  {
    scope some(row, c.guard(any));
    reads.prefetch_row(a, s, some, updates.high, last);
    some.close();
  }
  const auto each_element = [&](ir::value condition, auto&& value) {
    open_loops loops(*this, row);
    loops.enter(c.guard(condition));
    for (const node_id idx : s.indices)
      if (idx != s.owned) loops.enter(idx, idx == s.vector ? s.lanes : 1);
    store(s, value(*loops.inner), *loops.inner, ir::none, true);
    loops.close();
  };
  each_element(any, [&](scope& at) {
    range left = updates;
    const ir::value before = s.inverse.parts.array == no_node ? ir::none : take_parts(s, at, left);
    const auto soon = [&](scope& iteration, ir::value n) { reads.prefetch(a, iteration, n, last, true); };
    return fold_updates(a, at, left, type, fold, before, soon, [&](scope& iteration, ir::value cell) {
      combine_term(cell, s.body, {term.value, term.rest}, iteration);
    });
  });
  each_element(c.emit(op::logical_not, {any}), [&](scope& at) { return emit(identity_of(g, fold, type), at); });
  row.close();
}

}  // namespace sheaf::inline v0_1::lower
