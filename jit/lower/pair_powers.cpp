// Sums of powers that are relative to a running maximum, tile by tile: those of an attention. See pair_tiling.hpp.
#include <sheaf/jit/lower/pair_tiling.hpp>
#include <sheaf/jit/plan/algorithms/pair_tiles/powers.hpp>
#include <sheaf/jit/plan/stages.hpp>

namespace sheaf::inline v0_1::lower {

// What the maximum was before the tile goes through the buffer of scales: functions run in lanes along the rows.
void pair_tiling::advance_maximum(scope& at) {
  fold_in_numbers(*maximum_, at);
  const element type = maximum_->type;
  loop lane(*this, at, f_.rows, k_.known.call().vectors->register_bytes / row(type).bytes, rows_);
  const ir::value place = place_of_number(*maximum_, lane, true);
  const ir::value before = lane.block->load(scales_, type, {place}, ir::access::contiguous);
  const node_id now = plan::result_of(g_, *maximum_->s);
  lane.set(now, lane.block->load(maximum_->totals, type, {place}, ir::access::contiguous));
  const ir::value centre = k_.emit(centre_about(g_, now), lane);
  const ir::value scale = lane.block->emit(op::exp, {lane.block->emit(op::sub, {before, centre})});
  lane.block->store(scales_, {place}, scale, ir::access::contiguous);
  lane.close();
}

void pair_tiling::bind_maximum(scope& row) {
  if (maximum_ == nullptr) return;
  const node_id now = plan::result_of(g_, *maximum_->s);
  const ir::value x = row.block->load(maximum_->totals, maximum_->type, {place_of_number(*maximum_, row)});
  for (const node_id n : {now, proven(g_, now)}) row.set(n, x);
}

ir::value pair_tiling::scale_of_row(scope& row) {
  return row.block->load(scales_, maximum_->type, {place_of_row(row, rows_.low)});
}

void pair_tiling::fold_in_numbers(const result& r, scope& at) {
  rows_of_tile(at, [&](const range& rows, scope& s) {
    loop each(*this, s, f_.rows, 1, rows);
    if (&r != maximum_) bind_maximum(each);
    each_slot(r, each, [&](scope& slot) { fold_number(r, slot); });
    each.close();
  });
}

void pair_tiling::fold_number(const result& r, scope& row) {
  ir::block_builder& b = *row.block;
  const monoid fold = monoid_of(g_, r.parts.reduce);
  const ir::value cell = b.accumulator(r.type, fold, true);
  // As many lanes as a tile has places: the order of additions is the same for registers of any width.
  loop lane(*this, row, f_.walk, numerics::pair_tiles::places, part_);
  bind_kept(r.term(g_), ir::access::contiguous, lane);
  const ir::value mask = is_ranged() ? places_of_row(lane) : ir::none;
  lane.block->combine(cell, k_.emit(r.term(g_), lane), mask);
  lane.close();
  const ir::value to = place_of_number(r, row), x = b.fold_lanes(cell);
  ir::value before = b.load(r.totals, r.type, {to});
  if (&r == maximum_)
    b.store(scales_, {to}, before);
  else
    before = b.emit(op::mul, {before, scale_of_row(row)});
  b.store(r.totals, {to}, b.emit(sheaf::row(fold).combine, {before, x}));
}

// lanes: the first of the rows in lanes.
ir::value pair_tiling::place_of_number(const result& r, scope& row, bool lanes) {
  ir::block_builder& b = *row.block;
  const ir::value at = k_.emit(f_.rows, row, lanes), past = b.emit(op::sub, {at, rows_.low});
  if (r.few == no_node) return past;
  const ir::value width = b.i64(r.width), slot = k_.emit(k_.position_of(r.few), row);
  return b.emit(op::add, {b.emit(op::mul, {past, width}), slot});
}

void pair_tiling::finish_numbers(const result& r, scope& at) {
  const bool along = r.few == no_node && r.s->indices.back() == f_.rows;
  const int lanes = along ? k_.known.call().vectors->register_bytes / row(r.type).bytes : 1;
  loop each(*this, at, f_.rows, lanes, rows_);
  each_slot(r, each, [&](scope& slot) { finish_number(r, slot, along); });
  each.close();
}

void pair_tiling::finish_number(const result& r, scope& row, bool lanes) {
  const ir::access how = lanes ? ir::access::contiguous : ir::access::uniform;
  row.set(r.parts.reduce, row.block->load(r.totals, r.type, {place_of_number(r, row, lanes)}, how));
  k_.store_result(*r.s, row);
}

}  // namespace sheaf::inline v0_1::lower
