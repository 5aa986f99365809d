// Slices that follow each other, by tiles of rows (see plan::tile_form); a stage of its own found which slice each tile
// begins in, by a search among the bounds. One kernel where rows have values of their own, which walks the rows of a
// tile in lanes. Else two: the first folds them, and what crosses the ends of tiles is joined in their order. Rows that
// need what their slice comes to follow the fold in its kernel: rows_of_tiles.cpp.
#include <bit>

#include <sheaf/jit/lower/search.hpp>
#include <sheaf/jit/lower/tiles_lowering.hpp>
#include <sheaf/jit/numerics/numerics.hpp>

namespace sheaf::inline v0_1::lower {

using numerics::tile::join_lanes;

void tiles_lowering::find() {
  each_task(sum(*top.block, tiles, top.block->i64(1)), [&](scope& task, ir::value tile) {
    ir::block_builder& b = *task.block;
    const ir::value zero = b.i64(0), row = b.emit(op::mul, {tile, b.i64(f.size)});
    const ir::value found = first_that_ends_after(task, row, slices, [&](scope& iteration, ir::value slice) {
      ir::block_builder& c = *iteration.block;
      iteration.bind_to(k.g, f.slice, c.emit(op::minimum, {slice, gap(c, slices, c.i64(1))}));
      return k.emit(f.high, iteration);
    });
    // Slices without rows may stand anywhere: none is before the first tile, and all are before the end.
    const ir::value first = b.emit(op::equal, {tile, zero});
    const ir::value last = b.emit(op::equal, {tile, tiles});
    b.store(firsts, {tile}, b.emit(op::select, {last, slices, b.emit(op::select, {first, zero, found})}));
  });
}

// Where a slice begins; if it is asked for, with its number in the tile, from 1.
void tiles_lowering::mark_begins(scope& task, const range& own, const range& which, std::int32_t heads) {
  ir::block_builder& b = *task.block;
  ir::block_builder clear = b.loop(ir::loop_kind::vector, "clear", b.i64(0), b.i64(f.size), f.lanes);
  clear.store(heads, {clear.counter()}, clear.constant(k.buffer(heads).type, 0), ir::access::contiguous);
  clear.close();
  const range with_next{which.low, b.emit(op::minimum, {sum(b, which.high, b.i64(1)), slices})};
  open_loops loops(k, task);
  loops.enter(f.slice, f.lanes, &with_next);
  ir::block_builder& c = *loops.inner->block;
  const range r = bounds(*loops.inner);
  const ir::value starts = c.emit(op::less_equal, {own.low, r.low}), soon = c.emit(op::less, {r.low, own.high});
  const ir::value inside = c.emit(op::logical_and, {some_of(c, r), c.emit(op::logical_and, {starts, soon})});
  const ir::value number = gap(c, k.emit(f.slice, *loops.inner), gap(c, which.low, c.i64(1)));
  const ir::value mark = numbers() ? c.cast(element::i16, number) : c.constant(element::boolean, 1);
  c.store(heads, {gap(c, r.low, own.low)}, mark, ir::access::gather, inside);
  loops.close();
}

// Rows before the first slice that begins in the tile are of the one that goes on from the tile before. Returns the
// numbers of slices in the tile, from 1.
ir::value tiles_lowering::number_rows(ir::block_builder& b, ir::value head, ir::value running, ir::value most) const {
  const ir::value number = b.scan_lanes(running, b.cast(element::i32, head));
  return b.emit(op::minimum, {b.emit(op::maximum, {number, b.constant(element::i32, 1)}), most});
}
ir::value tiles_lowering::most_numbers(ir::block_builder& b, ir::value first) const {
  return b.cast(element::i32, b.emit(op::minimum, {gap(b, slices, first), b.i64(f.size + 1)}));
}
void tiles_lowering::bind_slice(scope& row, ir::value number, ir::value first) const {
  ir::block_builder& b = *row.block;
  row.set(f.mine, sum(b, gap(b, first, b.i64(1)), b.cast(element::i64, number)));
}

// Folds up to each row, from where its slice begins in the tile. Returns that of the last row.
ir::value tiles_lowering::fold_rows(scope& task, const range& own, ir::value first, std::int32_t heads,
                                    std::int32_t folded) {
  const ir::value running = task.block->accumulator(f.type, fold, false);
  const ir::value number = f.mine == no_node ? ir::none : task.block->accumulator(element::i32, monoid::max, false);
  const ir::value most = f.mine == no_node ? ir::none : most_numbers(*task.block, first);
  open_loops loops(k, task);
  loops.enter(f.walk, f.lanes, &own);
  ir::block_builder& b = *loops.inner->block;
  const ir::value place = gap(b, b.counter(), own.low);
  const ir::value head = b.load(heads, k.buffer(heads).type, {place}, ir::access::contiguous);
  const ir::value begins = numbers() ? b.emit(op::not_equal, {head, b.constant(element::i16, 0)}) : head;
  if (f.mine != no_node) {
    const ir::value own_number = number_rows(b, head, number, most);
    bind_slice(*loops.inner, own_number, first);
    if (!readers.empty()) b.store(heads, {place}, b.cast(element::i16, own_number), ir::access::contiguous);
  }
  const ir::value x = k.emit(f.value, *loops.inner);
  b.store(folded, {place}, b.scan_slices(running, x, begins), ir::access::contiguous);
  for (const tiles_lowering& reader : readers)
    for (const kept_row& each : reader.kept)
      b.store(each.buffer, {place}, k.emit(each.of_fold, *loops.inner), ir::access::contiguous);
  loops.close();
  return task.block->read(running);
}

// Slices that lie in the tile, each a lane.
void tiles_lowering::store_ends(scope& task, const range& own, const range& which, std::int32_t folded) {
  open_loops loops(k, task);
  loops.enter(f.slice, f.lanes, &which);
  ir::block_builder& b = *loops.inner->block;
  const range r = bounds(*loops.inner);
  const ir::value some = some_of(b, r), last = last_row(b, r, own);
  const ir::value found = b.load(folded, f.type, {last}, ir::access::gather, some);
  const ir::value none = k.emit(identity_of(k.g, fold, f.type), *loops.inner);
  const ir::value whole = b.emit(op::less_equal, {own.low, r.low});
  const ir::value mine = b.emit(op::logical_or, {b.emit(op::logical_not, {some}), whole});
  store(*loops.inner, b.emit(op::select, {some, found, none}), mine);
  loops.close();
}

void tiles_lowering::store_parts(scope& task, ir::value tile, const range& own, const range& which, ir::value rest,
                                 std::int32_t folded) {
  ir::block_builder& b = *task.block;
  const auto wide = [&](ir::block_builder& c, ir::value x) {
    return c.type_of(x) == joined() ? x : c.cast(joined(), x);
  };
  b.store(parts, {b.i64(0), tile}, wide(b, rest));
  scope crossing(task, b.guard(some_of(b, which)));
  ir::block_builder& c = *crossing.block;
  crossing.bind_to(k.g, f.slice, which.low);
  const range r = bounds(crossing);
  const ir::value last = last_row(c, r, own);
  const ir::value found = c.load(folded, f.type, {last}, ir::access::uniform, some_of(c, r));
  c.store(parts, {c.i64(1), tile}, wide(c, found));
  crossing.close();
}

void tiles_lowering::fold_tile(scope& task, ir::value tile, const range& own, const range& which, std::int32_t heads,
                               std::int32_t folded) {
  mark_begins(task, own, which, heads);
  const ir::value rest = fold_rows(task, own, which.low, heads, folded);
  store_ends(task, own, which, folded);
  store_parts(task, tile, own, which, rest, folded);
}

void tiles_lowering::fold_tiles() {
  const std::int32_t heads = local("begins", numbers() ? element::i16 : element::boolean);
  const std::int32_t folded = local("folds", f.type);
  each_task(tiles, [&](scope& task, ir::value tile) {
    const range own = rows_of_slices(task, rows_of(task, tile));
    fold_tile(task, tile, own, slices_of(*task.block, tile), heads, folded);
  });
}

// The columns of one slice, as far as it lies in the tile: stored if that is all of it, else as a part.
void tiles_lowering::slice_of_columns(scope& slice, ir::value tile, const range& own, ir::value next) {
  ir::block_builder& b = *slice.block;
  const range r = bounds(slice), rows{clamped(b, r.low, own), clamped(b, r.high, own)};
  const ir::value ends = b.emit(op::less, {k.emit(f.slice, slice), next});
  const ir::value begins =
      b.emit(op::logical_or, {b.emit(op::logical_not, {some_of(b, r)}), b.emit(op::less_equal, {own.low, r.low})});
  const ir::value whole = b.emit(op::logical_and, {ends, begins});
  scope columns(slice, k.open(slice, f.columns, f.lanes));
  k.bind(columns, f.columns, f.lanes);
  ir::block_builder& c = *columns.block;
  const ir::value cell = c.accumulator(f.type, fold, true);
  scope row(columns, k.open(columns, f.walk, 1, &rows));
  k.bind(row, f.walk, 1);
  row.block->combine(cell, k.emit(f.value, row));
  row.close();
  const ir::value found = c.read(cell);
  scope all(columns, c.guard(whole));
  store(all, found, ir::none);
  all.close();
  scope some(columns, c.guard(c.emit(op::logical_not, {whole})));
  ir::block_builder& d = *some.block;
  const ir::value wide = f.type == joined() ? found : d.cast(joined(), found);
  const ir::value which = d.cast(element::i64, ends), at = gap(d, c.counter(), k.emit(k.g.arg(f.columns, 0), some));
  d.store(parts, {which, tile, at}, wide, ir::access::contiguous);
  some.close();
  columns.close();
}

void tiles_lowering::fold_columns() {
  each_task(tiles, [&](scope& task, ir::value tile) {
    ir::block_builder& b = *task.block;
    const range own = rows_of(task, tile);
    const ir::value first = first_of(b, tile), next = first_of(b, sum(b, tile, b.i64(1)));
    const range which{first, b.emit(op::minimum, {sum(b, next, b.i64(1)), slices})};
    scope slice(task, k.open(task, f.slice, 1, &which));
    k.bind(slice, f.slice, 1);
    slice_of_columns(slice, tile, own, next);
    slice.close();
  });
}

void tiles_lowering::join_columns(scope& crosses, ir::value tile, ir::value from) {
  scope columns(crosses, k.open(crosses, f.columns, f.lanes));
  k.bind(columns, f.columns, f.lanes);
  ir::block_builder& b = *columns.block;
  const ir::value at = gap(b, b.counter(), k.emit(k.g.arg(f.columns, 0), columns));
  const ir::value all = b.accumulator(joined(), fold, true);
  const auto part = [&](ir::block_builder& c, std::int64_t which, ir::value of) {
    c.combine(all, c.load(parts, joined(), {c.i64(which), of, at}, ir::access::contiguous));
  };
  ir::block_builder e = b.loop(ir::loop_kind::serial, "part", from, tile);
  part(e, 0, e.counter());
  e.close();
  part(b, 1, tile);
  store(columns, b.read(all), ir::none);
  columns.close();
}

// Of a slice that ends in a tile and began before it: the parts of the tiles before, and that of this one.
void tiles_lowering::join() {
  each_task(tiles, [&](scope& task, ir::value tile) {
    ir::block_builder& b = *task.block;
    const ir::value first = first_of(b, tile);
    const range own = rows_of(task, tile), which{first, first_of(b, sum(b, tile, b.i64(1)))};
    scope some(task, b.guard(some_of(b, which)));
    some.bind_to(k.g, f.slice, first);
    const range r = bounds(some);
    ir::block_builder& c = *some.block;
    const ir::value began = c.emit(op::less, {r.low, own.low});
    scope crosses(some, c.guard(c.emit(op::logical_and, {began, some_of(c, r)})));
    ir::block_builder& d = *crosses.block;
    const ir::value from = d.emit(op::quotient, {d.emit(op::maximum, {r.low, d.i64(0)}), d.i64(f.size)});
    if (f.columns != no_node) return join_columns(crosses, tile, from), crosses.close(), some.close();
    const ir::value before = d.accumulator(joined(), fold, true), all = d.accumulator(joined(), fold, false);
    ir::block_builder e = d.loop(ir::loop_kind::vector, "part", from, tile, join_lanes);
    e.combine(before, e.load(parts, joined(), {e.i64(0), e.counter()}, ir::access::contiguous));
    e.close();
    d.combine(all, d.fold_lanes(before));
    d.combine(all, d.load(parts, joined(), {d.i64(1), tile}));
    store(crosses, d.read(all), ir::none);
    crosses.close();
    some.close();
  });
}

void kernel_lowering::fold_by_tiles(int part, scope& top) {
  const auto of_stage = [&](const stage& s) {
    const plan::tile_form& f = s.tiles();
    const bool finds = s.how == plan::way::tile_starts, folds = f.reduce != no_node;
    return tiles_lowering{.k = *this,
                          .s = s,
                          .f = f,
                          .top = top,
                          .firsts = buffers.at(finds ? s.define : f.firsts),
                          .parts = folds ? buffers.at(f.parts) : -1,
                          .fold = folds ? monoid_of(g, f.reduce) : monoid::sum,
                          .slices = emit(g.arg(f.slice, 1), top),
                          .tiles = emit(plan::tiles_of(g, f), top)};
  };
  tiles_lowering one = of_stage(*stages.front());
  if (stages.front()->how == plan::way::tile_starts) return one.find();
  if (one.f.reduce == no_node) return part == plan::rows_after_join ? one.store_rows_after_join() : one.store_rows();
  if (part == 1) return one.join();
  if (one.f.columns != no_node) return one.fold_columns();
  for (std::size_t n = 1; n < stages.size(); ++n) {
    one.readers.push_back(of_stage(*stages[n]));
    one.readers.back().numbered = one.f.mine != no_node;
  }
  one.readers.empty() ? one.fold_tiles() : one.fold_and_store_rows();
}

}  // namespace sheaf::inline v0_1::lower
