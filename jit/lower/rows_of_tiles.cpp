// Rows that are of one slice each, by tiles: each finds its slice and is stored, in a kernel of their own or in the one
// that folds the slices. There a tile stores its rows once those of its slices are folded that lie in it, and those of
// slices which it shares with others are stored, over that, when these are joined.
#include <sheaf/jit/lower/sort.hpp>
#include <sheaf/jit/lower/tiles_lowering.hpp>

namespace sheaf::inline v0_1::lower {

// Those of a tile's rows that some slice has.
range tiles_lowering::rows_of_slices(scope& task, const range& all) const {
  const ir::value low = clamped(*task.block, k.emit(f.begin, task), all);
  return {low, clamped(*task.block, k.emit(f.end, task), {low, all.high})};
}

// Each row's own value.
void tiles_lowering::values_of_rows(scope& task, const range& own, ir::value first, std::int32_t heads) {
  const ir::value number = numbered ? ir::none : task.block->accumulator(element::i32, monoid::max, false);
  const ir::value most = numbered ? ir::none : most_numbers(*task.block, first);
  open_loops loops(k, task);
  loops.enter(f.walk, f.lanes, &own);
  ir::block_builder& b = *loops.inner->block;
  const ir::value place = gap(b, b.counter(), own.low);
  const ir::value head = b.load(heads, element::i16, {place}, ir::access::contiguous);
  bind_slice(*loops.inner, numbered ? b.cast(element::i32, head) : number_rows(b, head, number, most), first);
  for (const kept_row& each : kept)
    loops.inner->set(each.of_rows, b.load(each.buffer, k.buffer(each.buffer).type, {place}, ir::access::contiguous));
  k.store(s, k.emit(f.value, *loops.inner), *loops.inner);
  loops.close();
}

// Rows of no slice, before all of them and after.
void tiles_lowering::rest_of_rows(scope& task, const range& all, const range& own) {
  for (const range& of_none : {range{all.low, own.low}, range{own.high, all.high}}) {
    open_loops loops(k, task);
    loops.enter(f.walk, f.lanes, &of_none);
    k.store(s, k.emit(f.rest, *loops.inner), *loops.inner);
    loops.close();
  }
}

// body(task, tile, its rows that slices have), where there is a slice; rows without one are stored for `stages`.
template <class Body>
void tiles_lowering::each_tile(const std::vector<tiles_lowering*>& stages, Body&& body) {
  ir::block_builder& b = *top.block;
  const ir::value zero = b.i64(0), any = b.emit(op::less, {zero, slices});
  scope task(top, b.loop(ir::loop_kind::parallel, "tile", zero, tiles));
  const ir::value tile = task.block->counter();
  const range all = rows_of(task, tile);
  scope some(task, task.block->guard(any));
  const range own = rows_of_slices(some, all);
  for (tiles_lowering* each : stages) each->rest_of_rows(some, all, own);
  body(some, tile, own);
  some.close();
  scope none(task, task.block->guard(task.block->emit(op::logical_not, {any})));
  for (tiles_lowering* each : stages) each->rest_of_rows(none, all, {all.high, all.high});
  none.close();
  task.close();
}

void tiles_lowering::store_rows() {
  const std::int32_t heads = local("begins", element::i16);
  each_tile({this}, [&](scope& task, ir::value tile, const range& own) {
    const range which = slices_of(*task.block, tile);
    mark_begins(task, own, which, heads);
    values_of_rows(task, own, which.low, heads);
  });
}

// Memory for what rows have of the fold.
void tiles_lowering::keep_rows() {
  for (tiles_lowering& reader : readers)
    for (const plan::kept_value& each : plan::kept_values(k.g, f, reader.f))
      reader.kept.push_back({each.of_fold, each.of_rows, local("kept", k.g.type(each.of_fold))});
}

void tiles_lowering::fold_and_store_rows() {
  const std::int32_t heads = local("begins", element::i16), folded = local("folds", f.type);
  keep_rows();
  std::vector<tiles_lowering*> stages;
  for (tiles_lowering& reader : readers) stages.push_back(&reader);
  each_tile(stages, [&](scope& task, ir::value tile, const range& own) {
    const range which = slices_of(*task.block, tile);
    fold_tile(task, tile, own, which, heads, folded);
    scope ends(task, task.block->guard(some_of(*task.block, which)));
    for (tiles_lowering* each : stages) each->values_of_rows(ends, own, which.low, heads);
    ends.close();
  });
}

void tiles_lowering::rows_of_slice(scope& task, ir::value slice, const range& of_slice) {
  open_loops loops(k, task);
  loops.enter(f.walk, f.lanes, &of_slice);
  loops.inner->set(f.mine, in_lanes(*loops.inner->block, slice));
  k.store(s, k.emit(f.value, *loops.inner), *loops.inner);
  loops.close();
}

// Of the slice that the tile before leaves, and of the one that is left to the next tile; they are one where it has no
// end of a slice.
void tiles_lowering::store_rows_after_join() {
  each_task(tiles, [&](scope& task, ir::value tile) {
    ir::block_builder& b = *task.block;
    const range own = rows_of(task, tile), which = slices_of(b, tile);
    const range left = bounds_at(task, which.low), next = bounds_at(task, which.high);
    const auto both = [&](ir::value x, ir::value y) { return b.emit(op::logical_and, {x, y}); };
    const auto less = [&](ir::value x, ir::value y) { return b.emit(op::less, {x, y}); };
    scope began(task, b.guard(both(less(left.low, own.low), less(own.low, left.high))));
    rows_of_slice(began, which.low, {own.low, began.block->emit(op::minimum, {left.high, own.high})});
    began.close();
    const ir::value begins = both(b.emit(op::less_equal, {own.low, next.low}), less(next.low, own.high));
    scope goes_on(task, b.guard(both(begins, less(which.high, slices))));
    rows_of_slice(goes_on, which.high, {next.low, own.high});
    goes_on.close();
  });
}

}  // namespace sheaf::inline v0_1::lower
