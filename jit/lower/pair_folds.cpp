// Which places rows walk, and how a tile of pairs joins the results. See pair_tiling.hpp.
#include <sheaf/jit/lower/pair_tiling.hpp>
#include <sheaf/jit/plan/mixed_precision.hpp>

namespace sheaf::inline v0_1::lower {

namespace {

using tuning::pair_tiles::copies;
constexpr std::int64_t places = numerics::pair_tiles::places, no_place = numerics::pair_tiles::no_place;

}  // namespace

void pair_tiling::find_ranges(scope& at) {
  const ir::value first = at.block->accumulator(element::i64, monoid::min, false),
                  last = at.block->accumulator(element::i64, monoid::max, false);
  loop each(*this, at, f_.rows, 1, rows_);
  ir::block_builder& b = *each.block;
  const ir::value low = k_.emit(range_of_rows_.low, each), high = k_.emit(range_of_rows_.high, each);
  const ir::value some = b.emit(op::less, {low, high}), after = b.i64(no_place), before = b.i64(-no_place);
  const ir::value from = b.emit(op::select, {some, low, after}), to = b.emit(op::select, {some, high, before});
  const ir::value row = place_of_row(each, rows_.low);
  b.store(lows_, {row}, from);
  b.store(highs_, {row}, to);
  b.combine(first, from);
  b.combine(last, to);
  each.close();
  // Tiles lie where they would if all places were walked.
  const ir::value begin = at.block->read(first), end = at.block->read(last), size = at.block->i64(places);
  any_ = {begin, end};
  const ir::value past = at.block->emit(op::sub, {begin, walked_.low});
  const ir::value skipped = at.block->emit(op::quotient, {past, size});
  const ir::value grid = at.block->emit(op::add, {walked_.low, at.block->emit(op::mul, {skipped, size})});
  walked_ = {grid, end};
}

ir::block_builder pair_tiling::tiles_of_walk(scope& at) {
  ir::block_builder& b = *at.block;
  const ir::value zero = b.i64(0), more = b.i64(places - 1), size = b.i64(places);
  const ir::value count = b.emit(op::maximum, {b.emit(op::sub, {walked_.high, walked_.low}), zero});
  const ir::value tiles = b.emit(op::quotient, {b.emit(op::add, {count, more}), size});
  return b.loop(ir::loop_kind::serial, k_.index_text(f_.walk) + "_block", zero, tiles);
}

void pair_tiling::find_part(scope& each) {
  const ir::value size = each.block->i64(places);
  part_ = block_of(walked_.low, walked_.high, size, each);
  grid_ = part_.low;
  if (is_ranged()) part_.low = each.block->emit(op::maximum, {part_.low, any_.low});
}

ir::value pair_tiling::find_common(const range& rows, scope& at) {
  ir::block_builder& b = *at.block;
  const auto cell = [&](monoid fold) { return b.accumulator(element::i64, fold, false); };
  const ir::value first = cell(monoid::min), most = cell(monoid::max), least = cell(monoid::min),
                  last = cell(monoid::max);
  const ir::value whole = cell(monoid::min);
  loop each(*this, at, f_.rows, 1, rows);
  const ir::value row = place_of_row(each, rows_.low);
  const ir::value low = each.block->load(lows_, element::i64, {row}),
                  high = each.block->load(highs_, element::i64, {row});
  if (is_masked()) each.block->combine(whole, each.block->load(wholes_, element::i64, {row}));
  each.block->combine(first, low);
  each.block->combine(most, low);
  each.block->combine(least, high);
  each.block->combine(last, high);
  each.close();
  ir::value begin = b.emit(op::maximum, {part_.low, b.read(most)});
  const ir::value end = b.emit(op::minimum, {part_.high, b.read(least)});
  if (is_masked()) {  // a row that walks some of its places only has nothing in common with others
    const ir::value one = b.i64(1), all = b.emit(op::equal, {b.read(whole), one});
    begin = b.emit(op::select, {all, begin, part_.high});
  }
  const ir::value low_common = b.emit(op::minimum, {begin, part_.high});
  common_ = {low_common, b.emit(op::maximum, {low_common, end})};
  const ir::value begins = b.emit(op::less, {b.read(first), part_.high});
  const ir::value ends = b.emit(op::less, {part_.low, b.read(last)});
  return b.emit(op::logical_and, {begins, ends});
}

void pair_tiling::fold_in_places(const result& r, scope& at) {
  loop lane(*this, at, f_.walk, lanes_, part_);
  each_slot(r, lane, [&](scope& slot) { fold_rows(r, slot); });
  lane.close();
}

void pair_tiling::fold_rows(const result& r, scope& at) {
  rows_of_tile(at, [&](const range& rows, scope& s) {
    loop each(*this, s, f_.rows, 1, rows);
    where_chosen(each, part_, [&](scope& in, const range&) {
      bind_kept(r.term(g_), ir::access::contiguous, in);
      if (is_chosen()) bind_kept(range_of_rows_.where, ir::access::contiguous, in);
      const ir::value to = total_of_places(r, in, true);
      const ir::value mask = is_ranged()   ? places_of_row(in)
                             : is_masked() ? mask_of_places(in)
                             : is_chosen() ? k_.emit(range_of_rows_.where, in)
                                           : ir::none;
      if (r.positions >= 0) return join_position(r, k_.emit(r.term(g_), in), to, in);
      join(r, k_.emit(r.term(g_), in), to, in, mask);
    });
    each.close();
  });
}

ir::value pair_tiling::places_of_row(scope& at) {
  const range own = range_of_row(at);
  const ir::value lanes = k_.emit(f_.walk, at);
  const ir::value from = at.block->emit(op::less_equal, {own.low, lanes});
  return at.block->emit(op::logical_and, {from, at.block->emit(op::less, {lanes, own.high})});
}

range pair_tiling::range_of_row(scope& at) {
  const ir::value row = place_of_row(at, rows_.low);
  const ir::value low = at.block->load(lows_, element::i64, {row});
  return {low, at.block->load(highs_, element::i64, {row})};
}

ir::value pair_tiling::total_of_places(const result& r, scope& at, bool in_tile) {
  ir::block_builder& b = *at.block;
  const ir::value row = k_.emit(f_.rows, at), width = b.i64(r.width);
  ir::value to = b.emit(op::mul, {b.emit(op::sub, {row, rows_.low}), width});
  if (r.few != no_node) {
    const ir::value slot = k_.emit(k_.position_of(r.few), at), size = b.i64(places);
    to = b.emit(op::add, {to, b.emit(op::mul, {slot, size})});
  }
  if (!in_tile) return to;
  const ir::value j = k_.emit(f_.walk, at, true);
  return b.emit(op::add, {to, b.emit(op::sub, {j, grid_})});
}

void pair_tiling::join(const result& r, ir::value x, ir::value to, scope& at, ir::value mask) {
  ir::value before = at.block->load(r.totals, r.type, {to}, ir::access::contiguous);
  if (r.maximum() != no_node) before = at.block->emit(op::mul, {before, scale_of_row(at)});
  const ir::value both = at.block->emit(row(monoid_of(g_, r.parts.reduce)).combine, {before, x});
  at.block->store(r.totals, {to}, both, ir::access::contiguous, mask);
}

// Of equal values the first is found: a later place has to be beyond it. NaN is beyond every number.
void pair_tiling::join_position(const result& r, ir::value x, ir::value to, scope& at) {
  ir::block_builder& b = *at.block;
  const ir::value before = b.load(r.totals, r.type, {to}, ir::access::contiguous);
  const bool least = monoid_of(g_, r.parts.reduce) == monoid::argmin;
  const ir::value no_less = b.emit(op::less_equal, {least ? before : x, least ? x : before});
  ir::value beyond = b.emit(op::logical_not, {no_less});
  if (is_floating(r.type)) beyond = b.emit(op::logical_and, {beyond, b.emit(op::equal, {before, before})});
  // Chosen and stored whole: masked stores are slow on processors without masks of their own.
  const ir::value at_before = b.load(r.positions, element::i64, {to}, ir::access::contiguous);
  const ir::value place = k_.emit(f_.walk, at);
  b.store(r.totals, {to}, b.emit(op::select, {beyond, x, before}), ir::access::contiguous);
  b.store(r.positions, {to}, b.emit(op::select, {beyond, place, at_before}), ir::access::contiguous);
}

void pair_tiling::fold_in_columns(const result& r, scope& at) {
  loop lane(*this, at, r.lane, r.column_lanes, r.columns);
  rows_of_tile(lane, [&](const range& rows, scope& s) {
    if (!differs_by_row()) return fold_part(r, rows, is_chosen() ? 1 : copies, part_, -1, r.totals, s);
    fold_part(r, rows, 1, {part_.low, common_.low}, -1, r.subtotals, s);
    fold_part(r, rows, copies, common_, r.subtotals, r.subtotals, s);
    fold_part(r, rows, 1, {common_.high, part_.high}, r.subtotals, r.totals, s);
  });
  lane.close();
}

void pair_tiling::fold_part(const result& r, const range& rows, int jam, const range& part, std::int32_t from,
                            std::int32_t to, scope& at) {
  loop each(*this, at, f_.rows, 1, rows, jam);
  range walked = part;
  if (differs_by_row() && jam == 1) {
    const range own = range_of_row(each);
    walked.low = each.block->emit(op::maximum, {part.low, own.low});
    walked.high = each.block->emit(op::minimum, {part.high, own.high});
  }
  bind_maximum(each);
  where_chosen(each, walked, [&](scope& in, const range& some) {
    const ir::value cell = k_.cell_of(r.parts.reduce, in, true);
    const auto at_row = [&](ir::value first) { return place(in, f_.rows, first, r.width, r.lane, r.columns.low); };
    if (from >= 0)
      in.block->combine(cell, in.block->load(from, r.type, {at_row(rows.low)}, ir::access::contiguous));
    fold_places(r, cell, some, is_chosen() || (is_masked() && jam == 1), in);
    if (to == r.totals)
      join(r, in.block->read(cell), at_row(rows_.low), in);
    else
      in.block->store(to, {at_row(rows.low)}, in.block->read(cell), ir::access::contiguous);
  });
  each.close();
}

void pair_tiling::fold_places(const result& r, ir::value cell, const range& part, bool asks, scope& row) {
  const node_id q = r.parts.reduce;
  loop inner(*this, row, f_.walk, 1, part);
  const node_id condition = asks ? range_of_rows_.where : truth(g_, true);
  bind_kept(g_.arg(q, 0), ir::access::uniform, inner);
  bind_kept(condition, ir::access::uniform, inner);
  k_.combine_term(cell, q, {g_.arg(q, 0), condition}, inner);
  inner.close();
}

void pair_tiling::find_chosen(scope& at) {
  loop each(*this, at, f_.rows, 1, rows_);
  const auto over_tile = [&](scope& in, auto&& body) {
    loop lane(*this, in, f_.walk, lanes_, part_);
    bind_kept(range_of_rows_.where, ir::access::contiguous, lane);
    body(lane, k_.emit(range_of_rows_.where, lane));
    lane.close();
  };
  ir::block_builder& b = *each.block;
  const ir::value any = b.accumulator(element::boolean, monoid::any, true), none = b.i64(0);
  over_tile(each, [&](scope& lane, ir::value holds) { lane.block->combine(any, holds); });
  const ir::value row = place_of_row(each, rows_.low), found = b.fold_lanes(any);
  for (const std::int32_t id : {lows_, highs_}) b.store(id, {row}, none);
  scope some(each, b.guard(found));
  const ir::value first = some.block->accumulator(element::i64, monoid::min, true),
                  last = some.block->accumulator(element::i64, monoid::max, true);
  over_tile(some, [&](scope& lane, ir::value holds) {
    const ir::value place = k_.emit(f_.walk, lane);
    for (const ir::value end : {first, last}) lane.block->combine(end, place, holds);
  });
  const ir::value one = some.block->i64(1);
  some.block->store(lows_, {row}, some.block->fold_lanes(first));
  some.block->store(highs_, {row}, some.block->emit(op::add, {some.block->fold_lanes(last), one}));
  some.close();
  each.close();
}

void pair_tiling::finish_places(const result& r, scope& at) {
  loop each(*this, at, f_.rows, 1, rows_);
  each_slot(r, each, [&](scope& slot) { finish_row(r, slot); });
  each.close();
}

void pair_tiling::finish_row(const result& r, scope& at) {
  ir::block_builder& b = *at.block;
  const ir::value cell = k_.cell_of(r.parts.reduce, at, true), first = total_of_places(r, at, false);
  const ir::value zero = b.i64(0), end = b.i64(places);
  scope inner(at, b.loop(ir::loop_kind::vector, "place", zero, end, static_cast<std::int32_t>(places)));
  inner.block->head().whole = true;
  const ir::value from = inner.block->emit(op::add, {first, inner.block->counter()});
  const ir::value total = inner.block->load(r.totals, r.type, {from}, ir::access::contiguous);
  ir::value found = ir::none;
  if (r.positions >= 0) found = inner.block->load(r.positions, element::i64, {from}, ir::access::contiguous);
  inner.block->combine(cell, total, ir::none, found);
  inner.close();
  k_.take_result(r.parts.reduce, cell, at, true);
  k_.store_result(*r.s, at);
}

void pair_tiling::finish_columns(const result& r, scope& at) {
  loop lane(*this, at, r.lane, r.column_lanes, r.columns), each(*this, lane, f_.rows, 1, rows_);
  const ir::value from = place(each, f_.rows, rows_.low, r.width, r.lane, r.columns.low);
  each.set(r.parts.reduce, each.block->load(r.totals, r.type, {from}, ir::access::contiguous));
  k_.store_result(*r.s, each);
  each.close();
  lane.close();
}

}  // namespace sheaf::inline v0_1::lower
