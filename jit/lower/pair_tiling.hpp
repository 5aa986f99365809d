// Folds of values of pairs, for a block of rows: in tiles of places of the walked index, what all rows share of a
// tile's sums is packed, the sums of each pair go to a tile of their own, then the values of pairs that results have
// several uses of, and what these come to joins what the tiles before came to. Stages that share sums fold the same
// tiles. See plan/algorithms/pair_tiles.
#pragma once
#include <span>

#include <sheaf/jit/lower/lowering.hpp>
#include <sheaf/jit/numerics/numerics.hpp>
#include <sheaf/jit/plan/algorithms/pair_tiles/parts.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::lower {

class pair_tiling {
 public:
  pair_tiling(kernel_lowering& k, std::span<const stage* const> stages);

  void operator()(const range& rows, scope& at);

 private:
  // What one of the stages folds of the tiles.
  struct result {
    const stage* s;
    plan::pair_parts parts;
    node_id lane, few;
    element type;  // of what is folded
    int column_lanes = numerics::lanes::least_of_most;
    std::int64_t width = 0;  // of a row's totals
    std::int32_t totals = -1, subtotals = -1;
    std::int32_t positions = -1;  // of an argmin or argmax: where its totals were found
    range columns{};
    // Kept as numbers, not lanes: the maximum that others are relative to, and what of those has no lanes.
    bool numbers = false;
    node_id maximum() const { return s->pairs().maximum; }
    node_id term(const graph& g) const { return g.arg(parts.reduce, 0); }
  };
  result result_of(const stage& s);
  void add_buffers(result& r);

  std::int32_t buffer(const char* name, element type, std::int64_t elements) {
    return k_.panel(name, type, elements);
  }
  // The loop over blocks of so many places of an index, and the places of the one at hand.
  ir::block_builder blocks(node_id idx, std::int64_t size, scope& at) {
    const node_id count = plan::blocks_in(g_, plan::trips_of(g_, idx), size);
    const ir::value zero = k_.emit(integer(g_, 0), at), end = k_.emit(count, at);
    return at.block->loop(ir::loop_kind::serial, k_.index_text(idx) + "_block", zero, end);
  }
  static range block_of(ir::value low, ir::value high, ir::value size, scope& each) {
    ir::block_builder& b = *each.block;
    const ir::value from = b.emit(op::add, {low, b.emit(op::mul, {b.counter(), size})});
    return {from, b.emit(op::minimum, {b.emit(op::add, {from, size}), high})};
  }

  // A loop over part of an index; `lanes` more than 1: in lanes.
  struct loop : scope {
    loop(pair_tiling& t, scope& at, node_id idx, int lanes, const range& part, int jam = 1)
        : scope(at, t.k_.open(at, idx, lanes, &part)) {
      block->head().jam = jam;
      t.k_.bind(*this, idx, lanes);
    }
  };

  // body(scope): once, or for each of the few results of a row.
  template <class Body>
  void each_slot(const result& r, scope& at, Body&& body) {
    if (r.few == no_node) return body(at);
    const range few{k_.emit(g_.arg(r.few, 0), at), k_.emit(g_.arg(r.few, 1), at)};
    loop slot(*this, at, r.few, 1, few);
    body(slot);
    slot.close();
  }

  // Where row `by` and place `of` of a block stand in a buffer of rows of `width`.
  ir::value place(scope& at, node_id by, ir::value first_row, std::int64_t width, node_id of, ir::value first);
  ir::value place_of_pair(scope& at) {
    return place(at, f_.rows, rows_.low, numerics::pair_tiles::places, f_.walk, grid_);
  }

  // The values of pairs that an expression has, as they were kept.
  void bind_kept(node_id e, ir::access how, scope& at);

  void results(scope& at);
  void tile(scope& at);

  // As many lanes of a type as a register tile has.
  int lanes_of(element type) const;

  bool is_ranged() const { return range_of_rows_.low != no_node; }
  // Does a condition choose places by what their sums are?
  bool is_chosen() const { return range_of_rows_.where != no_node && !range_of_rows_.by_index; }
  // Or a condition on indices that is no range of the walked one?
  bool is_masked() const { return range_of_rows_.by_index; }
  bool differs_by_row() const { return is_ranged() || is_masked(); }
  // From the first to the last place of the tile where it holds, of each row.
  void find_chosen(scope& at);
  // body(scope, places), if the row at hand has any; `part`: those it has where nothing is chosen.
  template <class Body>
  void where_chosen(scope& row, const range& part, Body&& body) {
    if (!is_chosen()) return body(row, part);
    const range own = range_of_row(row);
    scope inner(row, row.block->guard(row.block->emit(op::less, {own.low, own.high})));
    body(inner, own);
    inner.close();
  }
  // The places that each row walks, and those that any does. A row without places has a range that begins after all
  // others end.
  void find_ranges(scope& at);
  ir::value place_of_row(scope& at, ir::value first) {
    const ir::value r = k_.emit(f_.rows, at);
    return at.block->emit(op::sub, {r, first});
  }
  ir::block_builder tiles_of_walk(scope& at);
  void find_part(scope& each);

  // Rows of the task: all at once, or, where their ranges differ, those of a register tile at a time if any of them
  // walks the tile. body(rows, scope)
  template <class Body>
  void rows_of_tile(scope& at, Body&& body) {
    if (!differs_by_row()) return body(rows_, at);
    ir::block_builder& b = *at.block;
    const std::int64_t together = tuning::pair_tiles::copies;
    const ir::value size = b.i64(together), more = b.i64(together - 1), zero = b.i64(0);
    const ir::value count = b.emit(op::add, {b.emit(op::sub, {active_.high, active_.low}), more});
    const ir::value groups = b.emit(op::quotient, {count, size});
    scope group(at, b.loop(ir::loop_kind::serial, k_.index_text(f_.rows) + "_group", zero, groups));
    const range rows = block_of(active_.low, active_.high, size, group);
    const ir::value any = find_common(rows, group);
    scope inner(group, group.block->guard(any));
    body(rows, inner);
    inner.close();
    group.close();
  }
  // The places of the tile that all these rows walk. Returns whether any row walks any.
  ir::value find_common(const range& rows, scope& at);

  // pair_masks.cpp. body(scope): of a tile that any row walks.
  template <class Body>
  void where_masked(scope& tile, Body&& body) {
    if (!is_masked()) return body(tile);
    active_ = rows_;
    if (rows_of_place_.low != no_node) find_rows_of_places(tile);
    scope some(tile, tile.block->guard(tile.block->emit(op::less, {active_.low, active_.high})));
    scope inner(some, some.block->guard(find_masked(some)));
    body(inner);
    inner.close();
    some.close();
  }
  // The rows that each place of a tile names, and those that any does.
  void find_rows_of_places(scope& at);
  // From the first to the last place of the tile that each row walks, and whether it walks all between. Returns whether
  // any row walks any.
  ir::value find_masked(scope& at);
  ir::value mask_of_places(scope& lane);

  // What a reduction of nothing is, in all rows of a buffer.
  void fill(std::int32_t id, std::int64_t width, node_id reduce, scope& at);
  // Each place of a tile was found where it is first, until a value is beyond that of none.
  void fill_positions(const result& r, scope& at);

  // A sum of each pair of the tile, to its buffer, in blocks of its index.
  void sum_of_pairs(const plan::pair_parts::sum& sum, scope& at);
  std::int32_t panel_of(node_id n, std::int64_t block);

  void pack(const plan::pair_parts::sum& sum, const std::vector<std::int32_t>& panels, const range& part, scope& at);

  void add_block(const plan::pair_parts::sum& sum, const std::vector<std::int32_t>& panels, const range& part,
                 bool goes_on, scope& at);
  void add_rows(const plan::pair_parts::sum& sum, const std::vector<std::int32_t>& panels, const range& part,
                bool goes_on, const range& rows, scope& at);

  // Is all that differs along the tile in buffers, which have places beyond the walked index's last?
  bool is_kept(node_id n, const std::vector<node_id>& packed) const;
  range whole_tile(scope& at) const;

  void keep_values(scope& at);

  // pair_powers.cpp. Powers are relative to what a row's maximum is after the tile at hand, and what was folded of the
  // tiles before is scaled to it.
  void advance_maximum(scope& at);
  void bind_maximum(scope& row);
  ir::value scale_of_row(scope& row);
  void fold_in_numbers(const result& r, scope& at);
  void fold_number(const result& r, scope& row);
  ir::value place_of_number(const result& r, scope& row, bool lanes = false);
  void finish_numbers(const result& r, scope& at);
  void finish_number(const result& r, scope& row, bool lanes);

  void fold(const result& r, scope& at);
  void finish(const result& r, scope& at);
  // Results are one or a few of a row: each place of a tile joins the same place of the tiles before.
  void fold_in_places(const result& r, scope& at);
  void fold_rows(const result& r, scope& at);
  // Which lanes are places that the row walks?
  ir::value places_of_row(scope& at);
  range range_of_row(scope& at);
  // Of the row and slot at hand: the first place, or that of the loop over the tile.
  ir::value total_of_places(const result& r, scope& at, bool in_tile);
  void join(const result& r, ir::value x, ir::value to, scope& at, ir::value mask = ir::none);
  void join_position(const result& r, ir::value x, ir::value to, scope& at);

  // Results have lanes: a row folds the places of a tile one after the other. Where ranges differ, those before and
  // after the places that all rows of a register tile walk are each row's by itself.
  void fold_in_columns(const result& r, scope& at);
  // from: what it goes on from, or none.
  void fold_part(const result& r, const range& rows, int jam, const range& part, std::int32_t from, std::int32_t to,
                 scope& at);
  // The places of the row at hand, into a cell; asks: those where the condition holds.
  void fold_places(const result& r, ir::value cell, const range& part, bool asks, scope& row);

  void finish_places(const result& r, scope& at);
  void finish_row(const result& r, scope& at);
  void finish_columns(const result& r, scope& at);

  kernel_lowering& k_;
  graph& g_;
  const plan::pair_tile_form& f_;  // rows and places are the same for all stages
  std::vector<result> results_;
  const result* maximum_ = nullptr;  // that others are relative to
  std::int32_t scales_ = -1;         // of rows, from the maximum before the tile at hand to that after it
  plan::row_range range_of_rows_;
  std::vector<plan::pair_parts::sum> sums_;
  std::vector<node_id> values_;
  int lanes_ = 1;
  std::unordered_map<node_id, std::int32_t> tiles_, panels_;
  std::int32_t lows_ = -1, highs_ = -1, wholes_ = -1;
  plan::row_range rows_of_place_;  // masked: of the rows, where the condition is one; none: it is not
  std::int32_t first_rows_ = -1, last_rows_ = -1;
  std::unordered_set<node_id> ready_;  // values whose tiles are filled
  range rows_{}, active_{};  // of the task, and of these those that may walk the tile
  range walked_{}, any_{};    // places, and those of any row
  range part_{}, common_{};   // of a tile, and of the rows of a register tile together
  ir::value grid_ = ir::none;  // where the tile begins
};

}  // namespace sheaf::inline v0_1::lower
