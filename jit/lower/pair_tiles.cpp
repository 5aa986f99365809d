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
constexpr std::int64_t places = numerics::pair_tiles::places;

}  // namespace

class pair_tiling {
 public:
  pair_tiling(kernel_lowering& k, const stage& s)
      : k_(k), g_(k.g), s_(s), f_(s.pairs()), parts_(plan::parts_of_pairs(k.g, s)), type_(k.g.type(parts_.reduce)) {
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
  }

  void operator()(const range& rows, scope& at) {
    rows_ = rows;
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
  ir::value place_of_pair(scope& at) { return place(at, f_.rows, rows_.low, places, f_.walk, part_.low); }

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
    const ir::value size = k_.emit(integer(g_, places), at);
    const ir::value low = k_.emit(g_.arg(f_.walk, 0), at), high = k_.emit(g_.arg(f_.walk, 1), at);
    scope each(at, blocks(f_.walk, places, at));
    part_ = block_of(low, high, size, each);
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
    const ir::value to = place(inner, d, part.low, places, f_.walk, part_.low);
    for (std::size_t i = 0; i < panels.size(); ++i)
      inner.block->store(panels[i], {to}, k_.emit(sum.packed[i], inner), ir::access::contiguous);
    inner.close();
    lane.close();
  }

  void add_block(const plan::pair_parts::sum& sum, const std::vector<std::int32_t>& panels, const range& part,
                 bool goes_on, scope& at) {
    const node_id q = sum.reduce, d = g_.arg(q, 2);
    const std::int32_t tile = tiles_.at(q);
    const bool whole = is_kept(g_.arg(q, 0), sum.packed);
    loop lane(*this, at, f_.walk, lanes_, whole ? whole_tile(at) : part_), each(*this, lane, f_.rows, 1, rows_, copies);
    lane.block->head().whole = whole;
    const ir::value to = place_of_pair(each);
    bind_kept(g_.arg(q, 0), ir::access::contiguous, each);
    const ir::value cell = k_.cell_of(q, each, true);
    if (goes_on) each.block->combine(cell, each.block->load(tile, g_.type(q), {to}, ir::access::contiguous));
    loop inner(*this, each, d, 1, part);
    const ir::value from = place(inner, d, part.low, places, f_.walk, part_.low);
    for (std::size_t i = 0; i < panels.size(); ++i)
      inner.values[2 * std::int64_t{sum.packed[i]}] =
          inner.block->load(panels[i], g_.type(sum.packed[i]), {from}, ir::access::contiguous);
    k_.combine_term(cell, q, g_.arg(q, 0), g_.arg(q, 1), no_node, inner);
    inner.close();
    each.block->store(tile, {to}, each.block->read(cell), ir::access::contiguous);
    each.close();
    lane.close();
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
    return {part_.low, b.emit(op::add, {part_.low, size})};
  }

  void keep_values(scope& at) {
    std::vector<node_id> list = parts_.values;
    std::erase_if(list, [&](node_id v) { return ready_.contains(v); });
    if (list.empty()) return;
    loop lane(*this, at, f_.walk, lanes_, part_), each(*this, lane, f_.rows, 1, rows_);
    const ir::value to = place_of_pair(each);
    for (const node_id v : list) bind_kept(v, ir::access::contiguous, each);
    for (const node_id v : list) each.block->store(tiles_.at(v), {to}, k_.emit(v, each), ir::access::contiguous);
    each.close();
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
    loop each(*this, at, f_.rows, 1, rows_);
    bind_kept(g_.arg(parts_.reduce, 0), ir::access::contiguous, each);
    const ir::value to = total_of_places(each, true);
    join(k_.emit(g_.arg(parts_.reduce, 0), each), to, each);
    each.close();
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
    return b.emit(op::add, {to, b.emit(op::sub, {j, part_.low})});
  }
  void join(ir::value x, ir::value to, scope& at) {
    const ir::value before = at.block->load(totals_, type_, {to}, ir::access::contiguous);
    const ir::value both = at.block->emit(row(monoid_of(g_, parts_.reduce)).combine, {before, x});
    at.block->store(totals_, {to}, both, ir::access::contiguous);
  }

  // Results have lanes: a row folds the places of a tile one after the other.
  void fold_in_columns(scope& at) {
    const node_id q = parts_.reduce;
    loop lane(*this, at, f_.lane, column_lanes_, columns_), each(*this, lane, f_.rows, 1, rows_, copies);
    const ir::value cell = k_.cell_of(q, each, true);
    loop inner(*this, each, f_.walk, 1, part_);
    bind_kept(g_.arg(q, 0), ir::access::uniform, inner);
    k_.combine_term(cell, q, g_.arg(q, 0), g_.arg(q, 1), no_node, inner);
    inner.close();
    const ir::value to = place(each, f_.rows, rows_.low, width_, f_.lane, columns_.low);
    join(each.block->read(cell), to, each);
    each.close();
    lane.close();
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
  std::int32_t totals_ = -1;
  std::unordered_set<node_id> ready_;  // values whose tiles are filled
  range rows_{}, columns_{}, part_{};
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
  const node_id idx = s.pairs().rows, size = integer(g, tuning::pair_tiles::rows_of_task);
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
