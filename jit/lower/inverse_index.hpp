// An inverse index as its scatter sees it: where its array has what, the walk that makes it, and what the updates of a
// row come to. Private header, of inverse_index.cpp, inverse_index_blocks.cpp and row_parts.cpp.
#pragma once
#include <initializer_list>

#include <sheaf/jit/lower/digits.hpp>
#include <sheaf/jit/numerics/numerics.hpp>
#include <sheaf/jit/plan/algorithms/inverse_index/inverse_index.hpp>

namespace sheaf::inline v0_1::lower {

struct inverse_index_lowering {
  kernel_lowering& k;
  const plan::inverse_index_form& l;
  std::int32_t array;
  ir::value start, stop, chunks, size, room;

  ir::value at(ir::block_builder& b, ir::value position) const { return indices_in(k.code, array).load(b, position); }
  void put(ir::block_builder& b, ir::value position, ir::value x) const {
    indices_in(k.code, array).store(b, position, x);
  }
  ir::value next(ir::block_builder& b, ir::value x) const { return b.emit(op::add, {x, b.i64(1)}); }
  ir::value count(ir::block_builder& b) const { return b.emit(op::add, {chunks, b.i64(1)}); }
  // Place n of plane p: an index of update n, or, in the last plane, the n-th update by row.
  ir::value plane(ir::block_builder& b, std::size_t p, ir::value n) const {
    const ir::value skipped = b.emit(op::mul, {room, b.i64(static_cast<std::int64_t>(p))});
    return b.emit(op::add, {b.emit(op::add, {b.emit(op::add, {chunks, b.i64(2)}), skipped}), n});
  }
  // The n-th update by row.
  ir::value sorted(ir::block_builder& b, ir::value n) const {
    return l.by_row ? n : at(b, plane(b, l.named.size(), n));
  }
  // In the iteration of update n.
  void bind(scope& s, ir::value n) const {
    for (std::size_t p = 0; p < l.named.size(); ++p) {
      const ir::value place = plane(*s.block, p, n);
      if (k.g.kind(l.named[p]) == op::index)
        s.bind_to(k.g, l.named[p], at(*s.block, place));
      else
        bind_value(s, l.named[p], place);
    }
  }
  // What an update loads, by which its indices are nowhere needed.
  void bind_value(scope& s, node_id value, ir::value place) const {
    for (const node_id idx : l.walk) s.bound.insert(k.g.ordinal(idx));
    const element type = k.g.type(value);
    s.set(value, s.block->load(held_as(k.code, array, type), type, {place}));
  }
};

inline inverse_index_lowering inverse_index_of(kernel_lowering& k, const plan::inverse_index_form& l,
                                               std::int32_t array, scope& s) {
  const ir::value start = k.emit(k.g.arg(l.owned, 0), s), stop = k.emit(k.g.arg(l.owned, 1), s);
  const ir::value chunks = k.emit(plan::chunks_of(k.g, l), s), size = k.emit(integer(k.g, l.listed()), s);
  return {k, l, array, start, stop, chunks, size, k.emit(l.room, s)};
}

// What updates read, to be prefetched.
class reads_of_updates {
 public:
  reads_of_updates(kernel_lowering& k, const plan::inverse_index_form& l, node_id lane,
                   std::initializer_list<node_id> roots);
  // sorted: the position is one of those by row.
  void prefetch(const inverse_index_lowering& a, scope& iteration, ir::value position, ir::value end,
                bool sorted) const;
  // What the updates of a later row read in lanes at that row. position: one past those of this one.
  void prefetch_row(const inverse_index_lowering& a, const plan::stage& s, scope& row, ir::value position,
                    ir::value end) const;

 private:
  bool is_new(node_id n) const;

  kernel_lowering& k_;
  std::vector<node_id> direct_, named_;  // by its indices; by what these name
};

// Runs body(scope, chunk) for every update that goes to a row; iterations: of the outermost index, else all.
template <class Body>
void each_update(inverse_index_lowering& a, scope& s, Body&& body, const range* iterations = nullptr) {
  open_loops loops(a.k, s);
  for (const node_id idx : a.l.walk) loops.enter(idx, 1, idx == a.l.walk.front() ? iterations : nullptr);
  const ir::value at = a.k.emit(a.l.at, *loops.inner);
  ir::block_builder& b = *loops.inner->block;
  const ir::value low = b.emit(op::less_equal, {a.start, at}), high = b.emit(op::less, {at, a.stop});
  loops.enter(b.guard(b.emit(op::logical_and, {low, high})));
  ir::block_builder& c = *loops.inner->block;
  body(*loops.inner, c.emit(op::quotient, {c.emit(op::sub, {at, a.start}), a.size}));
  loops.close();
}

// What updates come to for one element of their row (or for its lanes): body(scope, cell) adds one, after soon(scope,
// position) prefetched what later ones read. before: what those before them come to; none: there are none.
template <class Soon, class Body>
ir::value fold_updates(const inverse_index_lowering& a, scope& s, const range& updates, element type, monoid fold,
                       ir::value before, Soon&& soon, Body&& body) {
  using numerics::updates::in_a_row;
  const bool wide = s.lane != no_node, in_blocks = fold == monoid::sum && is_floating(type);
  const ir::value cell = s.block->accumulator(type, fold, wide);
  if (before != ir::none) s.block->combine(cell, before);
  const auto iterations = [&](scope& at, ir::value to, const range& part) {
    scope iteration(at, at.block->loop(ir::loop_kind::serial, "update", part.low, part.high));
    soon(iteration, iteration.block->counter());
    a.bind(iteration, a.sorted(*iteration.block, iteration.block->counter()));
    body(iteration, to);
    iteration.close();
  };
  if (!in_blocks) {
    iterations(s, cell, updates);
    return s.block->read(cell);
  }
  ir::block_builder& b = *s.block;
  const ir::value size = b.i64(in_a_row), count = b.emit(op::sub, {updates.high, updates.low});
  const ir::value blocks = b.emit(op::quotient, {b.emit(op::add, {count, b.i64(in_a_row - 1)}), size});
  scope some(s, b.loop(ir::loop_kind::serial, "some", b.i64(0), blocks));
  ir::block_builder& c = *some.block;
  const ir::value part = c.accumulator(type, fold, wide);
  const ir::value low = c.emit(op::add, {updates.low, c.emit(op::mul, {c.counter(), size})});
  iterations(some, part, {low, c.emit(op::minimum, {c.emit(op::add, {low, size}), updates.high})});
  c.combine(cell, c.read(part));
  some.close();
  return b.read(cell);
}

}  // namespace sheaf::inline v0_1::lower
