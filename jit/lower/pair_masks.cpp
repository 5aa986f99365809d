// Conditions on the indices of pairs that are no range of the walked one, as of the gradient of a document's rows: a
// tile asks which rows walk it before it is computed, and each row which places. See pair_tiling.hpp.
#include <sheaf/jit/lower/pair_tiling.hpp>

namespace sheaf::inline v0_1::lower {

void pair_tiling::find_rows_of_places(scope& at) {
  const ir::value first = at.block->accumulator(element::i64, monoid::min, true),
                  last = at.block->accumulator(element::i64, monoid::max, true);
  loop lane(*this, at, f_.walk, lanes_of(element::i64), part_);
  ir::block_builder& b = *lane.block;
  const ir::value low = k_.emit(rows_of_place_.low, lane), high = k_.emit(rows_of_place_.high, lane);
  const ir::value some = b.emit(op::less, {low, high}), place = b.emit(op::sub, {k_.emit(f_.walk, lane, true), grid_});
  b.store(first_rows_, {place}, low, ir::access::contiguous);
  b.store(last_rows_, {place}, high, ir::access::contiguous);
  b.combine(first, low, some);
  b.combine(last, high, some);
  lane.close();
  ir::block_builder& after = *at.block;
  active_ = {after.emit(op::maximum, {rows_.low, after.fold_lanes(first)}),
             after.emit(op::minimum, {rows_.high, after.fold_lanes(last)})};
}

ir::value pair_tiling::mask_of_places(scope& lane) {
  if (first_rows_ < 0) return k_.emit(range_of_rows_.where, lane);
  ir::block_builder& b = *lane.block;
  const ir::value place = b.emit(op::sub, {k_.emit(f_.walk, lane, true), grid_}), row = k_.emit(f_.rows, lane);
  const ir::value low = b.load(first_rows_, element::i64, {place}, ir::access::contiguous),
                  high = b.load(last_rows_, element::i64, {place}, ir::access::contiguous);
  const ir::value from = b.emit(op::less_equal, {low, row});
  return b.emit(op::logical_and, {from, b.emit(op::less, {row, high})});
}

ir::value pair_tiling::find_masked(scope& at) {
  const ir::value any = at.block->accumulator(element::boolean, monoid::any, false);
  loop each(*this, at, f_.rows, 1, active_);
  ir::block_builder& b = *each.block;
  const auto cell = [&](monoid fold) { return b.accumulator(element::i64, fold, true); };
  const ir::value first = cell(monoid::min), last = cell(monoid::max), count = cell(monoid::sum);
  const ir::value one = b.i64(1), none = b.i64(0);
  loop lane(*this, each, f_.walk, lanes_of(element::i64), part_);
  const ir::value holds = mask_of_places(lane), place = k_.emit(f_.walk, lane);
  for (const ir::value end : {first, last}) lane.block->combine(end, place, holds);
  lane.block->combine(count, lane.block->emit(op::select, {holds, one, none}));
  lane.close();
  const ir::value low = b.fold_lanes(first), high = b.emit(op::add, {b.fold_lanes(last), one});
  const ir::value whole = b.emit(op::equal, {b.fold_lanes(count), b.emit(op::sub, {high, low})});
  const ir::value row = place_of_row(each, rows_.low);
  b.store(lows_, {row}, low);
  b.store(highs_, {row}, high);
  b.store(wholes_, {row}, b.emit(op::select, {whole, one, none}));
  b.combine(any, b.emit(op::less, {low, high}));
  each.close();
  return at.block->read(any);
}

}  // namespace sheaf::inline v0_1::lower
