// Folds of values of pairs, for a block of rows: in tiles of places of the walked index, what all rows share of a
// tile's sums is packed, the sums of each pair go to a tile of their own, then the values of pairs that results have
// several uses of, and what these come to joins what the tiles before came to. See plan/algorithms/pair_tiles.
#include <sheaf/jit/lower/lowering.hpp>
#include <sheaf/jit/plan/algorithms/pair_tiles/pair_tiles.hpp>
#include <sheaf/jit/plan/mixed_precision.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::lower {

namespace {

using namespace tuning::pair_tiles;
constexpr std::int64_t places = numerics::pair_tiles::places, no_place = numerics::pair_tiles::no_place;

}  // namespace

class pair_tiling {
 public:
  pair_tiling(kernel_lowering& k, const stage& s)
      : k_(k), g_(k.g), s_(s), f_(s.pairs), parts_(plan::parts_of_pairs(k.g, s)), type_(k.g.type(parts_.reduce)) {
    const auto& vectors = *k.known.call().vectors;
    const int registers = vectors.registers >= 32 ? 4 : 2;
    lanes_ = std::min(static_cast<int>(places), registers * vectors.register_bytes / row(type_).bytes);
    if (f_.lane == no_node)
      width_ = f_.few == no_node ? places : static_cast<std::int64_t>(most_few) * places;
    else
      width_ = k.known.trips(f_.lane) <= static_cast<double>(places) ? places : columns;
    while (f_.lane != no_node && column_lanes_ < lanes_ && k.known.trips(f_.lane) > column_lanes_) column_lanes_ *= 2;
    for (const auto& sum : parts_.sums) tiles_[sum.reduce] = buffer("sums", g_.type(sum.reduce), rows_of_task * places);
    for (const node_id v : parts_.values)
      if (!tiles_.contains(v)) tiles_[v] = buffer("values", g_.type(v), rows_of_task * places);
    totals_ = buffer("totals", type_, rows_of_task * width_);
    if (!is_ranged()) return;
    lows_ = buffer("lows", element::i64, rows_of_task);
    highs_ = buffer("highs", element::i64, rows_of_task);
    if (f_.lane != no_node) subtotals_ = buffer("subtotals", type_, copies * width_);
  }

  void operator()(const range& rows, scope& at) {
    rows_ = rows;
    walked_ = {k_.emit(g_.arg(f_.walk, 0), at), k_.emit(g_.arg(f_.walk, 1), at)};
    if (is_ranged()) find_ranges(at);
    if (f_.lane == no_node) return results(at);
    const ir::value size = k_.emit(integer(g_, width_), at);
    const ir::value low = k_.emit(g_.arg(f_.lane, 0), at), high = k_.emit(g_.arg(f_.lane, 1), at);
    scope each(at, blocks(f_.lane, width_, at));
    columns_ = block_of(low, high, size, each);
    results(each);
    each.close();
  }

 private:
  std::int32_t buffer(const char* name, element type, std::int64_t elements) {
    return k_.panel(name, type, elements);
  }
  // The loop over blocks of so many places of an index, and the places of the one at hand.
  ir::block_builder blocks(node_id idx, std::int64_t size, scope& at) {
    const node_id count = plan::pieces_of(g_, plan::trips_of(g_, idx), size);
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

  // Where row `by` and place `of` of a block stand in a buffer of rows of `width`.
  ir::value place(scope& at, node_id by, ir::value first_row, std::int64_t width, node_id of, ir::value first) {
    ir::block_builder& b = *at.block;
    const ir::value r = k_.emit(by, at, true), c = k_.emit(of, at, true), size = b.i64(width);
    const ir::value before = b.emit(op::mul, {b.emit(op::sub, {r, first_row}), size});
    return b.emit(op::add, {before, b.emit(op::sub, {c, first})});
  }
  ir::value place_of_pair(scope& at) { return place(at, f_.rows, rows_.low, places, f_.walk, grid_); }

  // The values of pairs that an expression has, as they were kept.
  void bind_kept(node_id e, ir::access how, scope& at) {
    std::vector<node_id> list;
    plan::for_each_node(g_, e, [&](node_id n) {
      if (ready_.contains(n)) list.push_back(n);
    });
    for (const node_id n : list)
      at.values[2 * std::int64_t{n}] = at.block->load(tiles_.at(n), g_.type(n), {place_of_pair(at)}, how);
  }

  void results(scope& at) {
    fill(totals_, width_, parts_.reduce, at);
    scope each(at, tiles_of_walk(at));
    find_part(each);
    ready_.clear();
    for (const auto& sum : parts_.sums) {
      sum_of_pairs(sum, each);
      ready_.insert(sum.reduce);
    }
    keep_values(each);
    if (f_.lane == no_node)
      fold_in_places(each);
    else
      fold_in_columns(each);
    each.close();
    if (f_.lane == no_node)
      finish_places(at);
    else
      finish_columns(at);
  }

  bool is_ranged() const { return parts_.range.low != no_node; }
  // The places that each row walks, and those that any does. A row without places has a range that begins after all
  // others end.
  void find_ranges(scope& at) {
    const ir::value first = at.block->accumulator(element::i64, monoid::min, false),
                    last = at.block->accumulator(element::i64, monoid::max, false);
    loop each(*this, at, f_.rows, 1, rows_);
    ir::block_builder& b = *each.block;
    const ir::value low = k_.emit(parts_.range.low, each), high = k_.emit(parts_.range.high, each);
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
  ir::value place_of_row(scope& at, ir::value first) {
    const ir::value r = k_.emit(f_.rows, at);
    return at.block->emit(op::sub, {r, first});
  }
  ir::block_builder tiles_of_walk(scope& at) {
    ir::block_builder& b = *at.block;
    const ir::value zero = b.i64(0), more = b.i64(places - 1), size = b.i64(places);
    const ir::value count = b.emit(op::maximum, {b.emit(op::sub, {walked_.high, walked_.low}), zero});
    const ir::value tiles = b.emit(op::quotient, {b.emit(op::add, {count, more}), size});
    return b.loop(ir::loop_kind::serial, k_.index_text(f_.walk) + "_block", zero, tiles);
  }
  void find_part(scope& each) {
    const ir::value size = each.block->i64(places);
    part_ = block_of(walked_.low, walked_.high, size, each);
    grid_ = part_.low;
    if (is_ranged()) part_.low = each.block->emit(op::maximum, {part_.low, any_.low});
  }

  // Rows of the task: all at once, or, where their ranges differ, those of a register tile at a time if any of them
  // walks the tile. body(rows, scope)
  template <class Body>
  void rows_of_tile(scope& at, Body&& body) {
    if (!is_ranged()) return body(rows_, at);
    ir::block_builder& b = *at.block;
    const ir::value size = b.i64(copies), more = b.i64(copies - 1), zero = b.i64(0);
    const ir::value count = b.emit(op::add, {b.emit(op::sub, {rows_.high, rows_.low}), more});
    const ir::value groups = b.emit(op::quotient, {count, size});
    scope group(at, b.loop(ir::loop_kind::serial, k_.index_text(f_.rows) + "_group", zero, groups));
    const range rows = block_of(rows_.low, rows_.high, size, group);
    const ir::value any = find_common(rows, group);
    scope inner(group, group.block->guard(any));
    body(rows, inner);
    inner.close();
    group.close();
  }
  // The places of the tile that all these rows walk. Returns whether any row walks any.
  ir::value find_common(const range& rows, scope& at) {
    ir::block_builder& b = *at.block;
    const auto cell = [&](monoid fold) { return b.accumulator(element::i64, fold, false); };
    const ir::value first = cell(monoid::min), most = cell(monoid::max), least = cell(monoid::min),
                    last = cell(monoid::max);
    loop each(*this, at, f_.rows, 1, rows);
    const ir::value row = place_of_row(each, rows_.low);
    const ir::value low = each.block->load(lows_, element::i64, {row}),
                    high = each.block->load(highs_, element::i64, {row});
    each.block->combine(first, low);
    each.block->combine(most, low);
    each.block->combine(least, high);
    each.block->combine(last, high);
    each.close();
    const ir::value begin = b.emit(op::maximum, {part_.low, b.read(most)}),
                    end = b.emit(op::minimum, {part_.high, b.read(least)});
    const ir::value low_common = b.emit(op::minimum, {begin, part_.high});
    common_ = {low_common, b.emit(op::maximum, {low_common, end})};
    const ir::value begins = b.emit(op::less, {b.read(first), part_.high});
    const ir::value ends = b.emit(op::less, {part_.low, b.read(last)});
    return b.emit(op::logical_and, {begins, ends});
  }

  // What a reduction of nothing is, in all rows of a buffer.
  void fill(std::int32_t id, std::int64_t width, node_id reduce, scope& at) {
    ir::block_builder& b = *at.block;
    const ir::value identity = k_.emit(identity_of(g_, monoid_of(g_, reduce), g_.type(reduce)), at);
    const ir::value size = b.i64(width), zero = b.i64(0);
    const ir::value count = b.emit(op::mul, {b.emit(op::sub, {rows_.high, rows_.low}), size});
    scope inner(at, b.loop(ir::loop_kind::vector, "place", zero, count, lanes_));
    inner.block->store(id, {inner.block->counter()}, identity, ir::access::contiguous);
    inner.close();
  }

  // A sum of each pair of the tile, to its buffer, in blocks of its index.
  void sum_of_pairs(const plan::pair_parts::sum& sum, scope& at) {
    const node_id d = g_.arg(sum.reduce, 2);
    std::int64_t most = block_bytes;
    std::vector<std::int32_t> panels;
    for (const node_id n : sum.packed) most = std::min(most, block_bytes / (places * row(g_.type(n)).bytes));
    for (const node_id n : sum.packed) panels.push_back(panel_of(n, most));
    const ir::value low = k_.emit(g_.arg(d, 0), at), high = k_.emit(g_.arg(d, 1), at);
    if (k_.known.trips(d) <= static_cast<double>(most)) {
      const range all{low, high};
      pack(sum, panels, all, at);
      return add_block(sum, panels, all, false, at);
    }
    fill(tiles_.at(sum.reduce), places, sum.reduce, at);
    const ir::value size = k_.emit(integer(g_, most), at);
    scope each(at, blocks(d, most, at));
    const range part = block_of(low, high, size, each);
    pack(sum, panels, part, each);
    add_block(sum, panels, part, true, each);
    each.close();
  }
  std::int32_t panel_of(node_id n, std::int64_t block) {
    const auto [found, fresh] = panels_.try_emplace(n, -1);
    if (fresh) found->second = buffer("panel", g_.type(n), block * places);
    return found->second;
  }

  void pack(const plan::pair_parts::sum& sum, const std::vector<std::int32_t>& panels, const range& part, scope& at) {
    const node_id d = g_.arg(sum.reduce, 2);
    loop lane(*this, at, f_.walk, lanes_, part_), inner(*this, lane, d, 1, part);
    const ir::value to = place(inner, d, part.low, places, f_.walk, grid_);
    for (std::size_t i = 0; i < panels.size(); ++i)
      inner.block->store(panels[i], {to}, k_.emit(sum.packed[i], inner), ir::access::contiguous);
    inner.close();
    lane.close();
  }

  void add_block(const plan::pair_parts::sum& sum, const std::vector<std::int32_t>& panels, const range& part,
                 bool goes_on, scope& at) {
    const bool whole = is_kept(g_.arg(sum.reduce, 0), sum.packed);
    loop lane(*this, at, f_.walk, lanes_, whole ? whole_tile(at) : part_);
    lane.block->head().whole = whole;
    rows_of_tile(lane, [&](const range& rows, scope& s) { add_rows(sum, panels, part, goes_on, rows, s); });
    lane.close();
  }
  void add_rows(const plan::pair_parts::sum& sum, const std::vector<std::int32_t>& panels, const range& part,
                bool goes_on, const range& rows, scope& at) {
    const node_id q = sum.reduce, d = g_.arg(q, 2);
    const std::int32_t tile = tiles_.at(q);
    loop each(*this, at, f_.rows, 1, rows, copies);
    const ir::value to = place_of_pair(each);
    bind_kept(g_.arg(q, 0), ir::access::contiguous, each);
    const ir::value cell = k_.cell_of(q, each, true);
    if (goes_on) each.block->combine(cell, each.block->load(tile, g_.type(q), {to}, ir::access::contiguous));
    loop inner(*this, each, d, 1, part);
    const ir::value from = place(inner, d, part.low, places, f_.walk, grid_);
    for (std::size_t i = 0; i < panels.size(); ++i)
      inner.values[2 * std::int64_t{sum.packed[i]}] =
          inner.block->load(panels[i], g_.type(sum.packed[i]), {from}, ir::access::contiguous);
    k_.combine_term(cell, q, g_.arg(q, 0), g_.arg(q, 1), no_node, inner);
    inner.close();
    each.block->store(tile, {to}, each.block->read(cell), ir::access::contiguous);
    each.close();
  }

  // Is all that differs along the tile in buffers, which have places beyond the walked index's last?
  bool is_kept(node_id n, const std::vector<node_id>& packed) const {
    if (!plan::uses(g_, n, f_.walk) || ready_.contains(n) || std::ranges::count(packed, n) > 0) return true;
    if (!is_elementwise(g_.kind(n)) && g_.kind(n) != op::select && g_.kind(n) != op::cast) return false;
    for (int k = 0; k < g_[n].count; ++k)
      if (!is_kept(g_.arg(n, k), packed)) return false;
    return true;
  }
  range whole_tile(scope& at) const {
    ir::block_builder& b = *at.block;
    const ir::value size = b.i64(places);
    return {grid_, b.emit(op::add, {grid_, size})};
  }

  void keep_values(scope& at) {
    std::vector<node_id> list = parts_.values;
    std::erase_if(list, [&](node_id v) { return ready_.contains(v); });
    if (list.empty()) return;
    loop lane(*this, at, f_.walk, lanes_, part_);
    rows_of_tile(lane, [&](const range& rows, scope& s) {
      loop each(*this, s, f_.rows, 1, rows);
      const ir::value to = place_of_pair(each);
      for (const node_id v : list) bind_kept(v, ir::access::contiguous, each);
      for (const node_id v : list) each.block->store(tiles_.at(v), {to}, k_.emit(v, each), ir::access::contiguous);
      each.close();
    });
    lane.close();
    ready_ = {parts_.values.begin(), parts_.values.end()};
  }

  // Results are one or a few of a row: each place of a tile joins the same place of the tiles before.
  void fold_in_places(scope& at) {
    loop lane(*this, at, f_.walk, lanes_, part_);
    if (f_.few == no_node) {
      fold_rows(lane);
      return lane.close();
    }
    const range few{k_.emit(g_.arg(f_.few, 0), lane), k_.emit(g_.arg(f_.few, 1), lane)};
    loop slot(*this, lane, f_.few, 1, few);
    fold_rows(slot);
    slot.close();
    lane.close();
  }
  void fold_rows(scope& at) {
    rows_of_tile(at, [&](const range& rows, scope& s) {
      loop each(*this, s, f_.rows, 1, rows);
      bind_kept(g_.arg(parts_.reduce, 0), ir::access::contiguous, each);
      const ir::value to = total_of_places(each, true);
      join(k_.emit(g_.arg(parts_.reduce, 0), each), to, each, is_ranged() ? places_of_row(each) : ir::none);
      each.close();
    });
  }
  // Which lanes are places that the row walks?
  ir::value places_of_row(scope& at) {
    const range own = range_of_row(at);
    const ir::value lanes = k_.emit(f_.walk, at);
    const ir::value from = at.block->emit(op::less_equal, {own.low, lanes});
    return at.block->emit(op::logical_and, {from, at.block->emit(op::less, {lanes, own.high})});
  }
  range range_of_row(scope& at) {
    const ir::value row = place_of_row(at, rows_.low);
    const ir::value low = at.block->load(lows_, element::i64, {row});
    return {low, at.block->load(highs_, element::i64, {row})};
  }
  // Of the row and slot at hand: the first place, or that of the loop over the tile.
  ir::value total_of_places(scope& at, bool in_tile) {
    ir::block_builder& b = *at.block;
    const ir::value r = k_.emit(f_.rows, at), width = b.i64(width_);
    ir::value to = b.emit(op::mul, {b.emit(op::sub, {r, rows_.low}), width});
    if (f_.few != no_node) {
      const ir::value slot = k_.emit(k_.position_of(f_.few), at), size = b.i64(places);
      to = b.emit(op::add, {to, b.emit(op::mul, {slot, size})});
    }
    if (!in_tile) return to;
    const ir::value j = k_.emit(f_.walk, at, true);
    return b.emit(op::add, {to, b.emit(op::sub, {j, grid_})});
  }
  void join(ir::value x, ir::value to, scope& at, ir::value mask = ir::none) {
    const ir::value before = at.block->load(totals_, type_, {to}, ir::access::contiguous);
    const ir::value both = at.block->emit(row(monoid_of(g_, parts_.reduce)).combine, {before, x});
    at.block->store(totals_, {to}, both, ir::access::contiguous, mask);
  }

  // Results have lanes: a row folds the places of a tile one after the other. Where ranges differ, those before and
  // after the places that all rows of a register tile walk are each row's by itself.
  void fold_in_columns(scope& at) {
    loop lane(*this, at, f_.lane, column_lanes_, columns_);
    rows_of_tile(lane, [&](const range& rows, scope& s) {
      if (!is_ranged()) return fold_part(rows, copies, part_, -1, totals_, s);
      fold_part(rows, 1, {part_.low, common_.low}, -1, subtotals_, s);
      fold_part(rows, copies, common_, subtotals_, subtotals_, s);
      fold_part(rows, 1, {common_.high, part_.high}, subtotals_, totals_, s);
    });
    lane.close();
  }
  // from: what it goes on from, or none.
  void fold_part(const range& rows, int jam, const range& part, std::int32_t from, std::int32_t to, scope& at) {
    const node_id q = parts_.reduce;
    loop each(*this, at, f_.rows, 1, rows, jam);
    const ir::value cell = k_.cell_of(q, each, true);
    const auto at_row = [&](ir::value first) { return place(each, f_.rows, first, width_, f_.lane, columns_.low); };
    if (from >= 0)
      each.block->combine(cell, each.block->load(from, type_, {at_row(rows.low)}, ir::access::contiguous));
    range walked = part;
    if (is_ranged() && jam == 1) {
      const range own = range_of_row(each);
      walked.low = each.block->emit(op::maximum, {part.low, own.low});
      walked.high = each.block->emit(op::minimum, {part.high, own.high});
    }
    loop inner(*this, each, f_.walk, 1, walked);
    bind_kept(g_.arg(q, 0), ir::access::uniform, inner);
    k_.combine_term(cell, q, g_.arg(q, 0), truth(g_, true), no_node, inner);
    inner.close();
    if (to == totals_)
      join(each.block->read(cell), at_row(rows_.low), each);
    else
      each.block->store(to, {at_row(rows.low)}, each.block->read(cell), ir::access::contiguous);
    each.close();
  }

  void finish_places(scope& at) {
    loop each(*this, at, f_.rows, 1, rows_);
    if (f_.few == no_node) {
      finish_row(each);
      return each.close();
    }
    const range few{k_.emit(g_.arg(f_.few, 0), each), k_.emit(g_.arg(f_.few, 1), each)};
    loop slot(*this, each, f_.few, 1, few);
    finish_row(slot);
    slot.close();
    each.close();
  }
  void finish_row(scope& at) {
    ir::block_builder& b = *at.block;
    const ir::value cell = k_.cell_of(parts_.reduce, at, true), first = total_of_places(at, false);
    const ir::value zero = b.i64(0), end = b.i64(places);
    scope inner(at, b.loop(ir::loop_kind::vector, "place", zero, end, static_cast<std::int32_t>(places)));
    inner.block->head().whole = true;
    const ir::value from = inner.block->emit(op::add, {first, inner.block->counter()});
    inner.block->combine(cell, inner.block->load(totals_, type_, {from}, ir::access::contiguous));
    inner.close();
    k_.take_result(parts_.reduce, cell, at, true);
    k_.store_result(s_, at);
  }
  void finish_columns(scope& at) {
    loop lane(*this, at, f_.lane, column_lanes_, columns_), each(*this, lane, f_.rows, 1, rows_);
    const ir::value from = place(each, f_.rows, rows_.low, width_, f_.lane, columns_.low);
    each.values[2 * std::int64_t{parts_.reduce}] =
        each.block->load(totals_, type_, {from}, ir::access::contiguous);
    k_.store_result(s_, each);
    each.close();
    lane.close();
  }

  kernel_lowering& k_;
  graph& g_;
  const stage& s_;
  const plan::pair_tile_form& f_;
  const plan::pair_parts parts_;
  const element type_;
  int lanes_ = 1, column_lanes_ = numerics::lanes::least_of_most;
  std::int64_t width_ = 0;  // of a row's totals
  std::unordered_map<node_id, std::int32_t> tiles_, panels_;
  std::int32_t totals_ = -1, subtotals_ = -1, lows_ = -1, highs_ = -1;
  std::unordered_set<node_id> ready_;  // values whose tiles are filled
  range rows_{}, columns_{};
  range walked_{}, any_{};    // places, and those of any row
  range part_{}, common_{};   // of a tile, and of the rows of a register tile together
  ir::value grid_ = ir::none;  // where the tile begins
};

void kernel_lowering::pair_tiles(const stage& s, const plan::kernel_plan& k, scope& task, const range* rows) {
  open_loops outer(*this, task);
  for (const node_id idx : s.loops)
    if (idx != k.parallel) outer.enter(idx, 1);
  pair_tiling tiles(*this, s);
  if (rows != nullptr) {
    tiles(*rows, *outer.inner);
    return outer.close();
  }
  scope& at = *outer.inner;
  const node_id idx = s.pairs.rows, size = integer(g, tuning::pair_tiles::rows_of_task);
  const ir::value low = emit(g.arg(idx, 0), at), high = emit(g.arg(idx, 1), at), step = emit(size, at);
  const node_id count = plan::pieces_of(g, plan::trips_of(g, idx), tuning::pair_tiles::rows_of_task);
  const ir::value zero = emit(integer(g, 0), at), end = emit(count, at);
  scope each(at, at.block->loop(ir::loop_kind::serial, index_text(idx) + "_block", zero, end));
  ir::block_builder& b = *each.block;
  const ir::value from = b.emit(op::add, {low, b.emit(op::mul, {b.counter(), step})});
  tiles({from, b.emit(op::minimum, {b.emit(op::add, {from, step}), high})}, each);
  each.close();
  outer.close();
}

}  // namespace sheaf::inline v0_1::lower
