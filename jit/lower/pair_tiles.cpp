// The tiles of pairs, one after the other: sums, then values. See pair_tiling.hpp.
#include <limits>

#include <sheaf/jit/lower/pair_tiling.hpp>
#include <sheaf/jit/plan/mixed_precision.hpp>

namespace sheaf::inline v0_1::lower {

namespace {

using namespace tuning::pair_tiles;
constexpr std::int64_t places = numerics::pair_tiles::places;

}  // namespace

pair_tiling::pair_tiling(kernel_lowering& k, std::span<const stage* const> stages)
    : k_(k), g_(k.g), f_(stages.front()->pairs()) {
  for (const stage* const s : stages) results_.push_back(result_of(*s));
  for (const result& r : results_) {
    if (r.maximum() == no_node) continue;
    for (result& other : results_)
      if (other.s->define == g_.arg(r.maximum(), 0)) maximum_ = &other, other.numbers = true;
  }
  range_of_rows_ = results_.front().parts.range;
  lanes_ = lanes_of(results_.front().type);
  for (result& r : results_) add_buffers(r);
  if (maximum_ != nullptr) scales_ = buffer("scales", maximum_->type, rows_of_task);
  if (!differs_by_row() && !is_chosen()) return;
  lows_ = buffer("lows", element::i64, rows_of_task);
  highs_ = buffer("highs", element::i64, rows_of_task);
  if (!is_masked()) return;
  wholes_ = buffer("wholes", element::i64, rows_of_task);
  const auto of_place = plan::range_of_rows(g_, range_of_rows_.where, f_.rows);
  if (!of_place || of_place->low == no_node) return;
  rows_of_place_ = *of_place;
  first_rows_ = buffer("first_rows", element::i64, places);
  last_rows_ = buffer("last_rows", element::i64, places);
}

pair_tiling::result pair_tiling::result_of(const stage& s) {
  const plan::pair_tile_form& f = s.pairs();
  result r{.s = &s, .parts = plan::parts_of_pairs(g_, s), .lane = f.lane, .few = f.few, .type = element::f32};
  r.type = k_.type_of_cell(r.parts.reduce);
  r.numbers = f.maximum != no_node && f.lane == no_node;
  return r;
}

void pair_tiling::add_buffers(result& r) {
  const std::int64_t slots = r.few == no_node ? 1 : plan::few_of(r.type);
  if (r.lane == no_node)
    r.width = r.numbers ? slots : slots * places;
  else
    r.width = k_.known.trips(r.lane).is_at_most(static_cast<double>(places)) ? places : columns;
  while (r.lane != no_node && r.column_lanes < lanes_ && k_.known.trips(r.lane) > r.column_lanes) r.column_lanes *= 2;
  for (const auto& sum : r.parts.sums) {
    if (tiles_.contains(sum.reduce)) continue;
    tiles_[sum.reduce] = buffer("sums", g_.type(sum.reduce), rows_of_task * places);
    sums_.push_back(sum);
  }
  for (const node_id v : r.parts.values) {
    if (std::ranges::count(values_, v) > 0) continue;
    values_.push_back(v);
    if (!tiles_.contains(v)) tiles_[v] = buffer("values", g_.type(v), rows_of_task * places);
  }
  r.totals = buffer("totals", r.type, rows_of_task * r.width);
  if (row(monoid_of(g_, r.parts.reduce)).position)
    r.positions = buffer("positions", element::i64, rows_of_task * r.width);
  if (differs_by_row() && r.lane != no_node) r.subtotals = buffer("subtotals", r.type, copies * r.width);
}

int pair_tiling::lanes_of(element type) const {
  const auto& vectors = *k_.known.call().vectors;
  const int registers = vectors.registers >= 32 ? 4 : 2;
  return std::min(static_cast<int>(places), registers * vectors.register_bytes / row(type).bytes);
}

void pair_tiling::operator()(const range& rows, scope& at) {
  rows_ = active_ = rows;
  walked_ = {k_.emit(g_.arg(f_.walk, 0), at), k_.emit(g_.arg(f_.walk, 1), at)};
  if (is_ranged()) find_ranges(at);
  for (result& r : results_)
    if (r.lane != no_node) r.columns = {k_.emit(g_.arg(r.lane, 0), at), k_.emit(g_.arg(r.lane, 1), at)};
  result& first = results_.front();
  if (results_.size() > 1 || first.lane == no_node) return results(at);
  const ir::value size = k_.emit(integer(g_, first.width), at);
  scope each(at, blocks(first.lane, first.width, at));
  first.columns = block_of(first.columns.low, first.columns.high, size, each);
  results(each);
  each.close();
}

ir::value pair_tiling::place(scope& at, node_id by, ir::value first_row, std::int64_t width, node_id of,
                             ir::value first) {
  ir::block_builder& b = *at.block;
  const ir::value r = k_.emit(by, at, true), c = k_.emit(of, at, true), size = b.i64(width);
  const ir::value before = b.emit(op::mul, {b.emit(op::sub, {r, first_row}), size});
  return b.emit(op::add, {before, b.emit(op::sub, {c, first})});
}

void pair_tiling::bind_kept(node_id e, ir::access how, scope& at) {
  std::vector<node_id> list;
  plan::for_each_node(g_, e, [&](node_id n) {
    if (ready_.contains(n)) list.push_back(n);
  });
  for (const node_id n : list)
    at.values[2 * std::int64_t{n}] = at.block->load(tiles_.at(n), g_.type(n), {place_of_pair(at)}, how);
}

void pair_tiling::results(scope& at) {
  for (const result& r : results_) {
    fill(r.totals, r.width, r.parts.reduce, at);
    if (r.positions >= 0) fill_positions(r, at);
  }
  scope each(at, tiles_of_walk(at));
  find_part(each);
  where_masked(each, [&](scope& some) { tile(some); });
  each.close();
  for (const result& r : results_) finish(r, at);
}

void pair_tiling::tile(scope& each) {
  ready_.clear();
  for (const auto& sum : sums_) {
    sum_of_pairs(sum, each);
    ready_.insert(sum.reduce);
  }
  if (maximum_ != nullptr) advance_maximum(each);
  keep_values(each);
  if (is_chosen()) find_chosen(each);
  for (const result& r : results_)
    if (&r != maximum_) fold(r, each);
}

void pair_tiling::fold(const result& r, scope& at) {
  if (r.numbers) return fold_in_numbers(r, at);
  return r.lane == no_node ? fold_in_places(r, at) : fold_in_columns(r, at);
}

void pair_tiling::finish(const result& r, scope& at) {
  if (r.numbers) return finish_numbers(r, at);
  return r.lane == no_node ? finish_places(r, at) : finish_columns(r, at);
}

void pair_tiling::fill(std::int32_t id, std::int64_t width, node_id reduce, scope& at) {
  ir::block_builder& b = *at.block;
  const ir::value identity = k_.emit(identity_of(g_, monoid_of(g_, reduce), k_.type_of_cell(reduce)), at);
  const ir::value size = b.i64(width), zero = b.i64(0);
  const ir::value count = b.emit(op::mul, {b.emit(op::sub, {rows_.high, rows_.low}), size});
  scope inner(at, b.loop(ir::loop_kind::vector, "place", zero, count, lanes_));
  inner.block->store(id, {inner.block->counter()}, identity, ir::access::contiguous);
  inner.close();
}

void pair_tiling::fill_positions(const result& r, scope& at) {
  loop each(*this, at, f_.rows, 1, rows_);
  const ir::value first = total_of_places(r, each, false);
  ir::block_builder& b = *each.block;
  const ir::value zero = b.i64(0), size = b.i64(places);
  const ir::value some = b.emit(op::less, {walked_.low, walked_.high});
  const ir::value none = b.i64(std::numeric_limits<std::int64_t>::max());
  scope inner(each, b.loop(ir::loop_kind::vector, "place", zero, size, lanes_));
  inner.block->head().whole = true;
  const ir::value place = inner.block->counter(), to = inner.block->emit(op::add, {first, place});
  const ir::value found = inner.block->emit(op::add, {walked_.low, inner.block->lanes()});
  inner.block->store(r.positions, {to}, inner.block->emit(op::select, {some, found, none}), ir::access::contiguous);
  inner.close();
  each.close();
}

void pair_tiling::sum_of_pairs(const plan::pair_parts::sum& sum, scope& at) {
  const node_id d = g_.arg(sum.reduce, 2);
  std::int64_t most = block_bytes;
  std::vector<std::int32_t> panels;
  for (const node_id n : sum.packed) most = std::min(most, block_bytes / (places * row(g_.type(n)).bytes));
  for (const node_id n : sum.packed) panels.push_back(panel_of(n, most));
  const ir::value low = k_.emit(g_.arg(d, 0), at), high = k_.emit(g_.arg(d, 1), at);
  if (k_.known.trips(d).is_at_most(static_cast<double>(most))) {
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

std::int32_t pair_tiling::panel_of(node_id n, std::int64_t block) {
  const auto [found, fresh] = panels_.try_emplace(n, -1);
  if (fresh) found->second = buffer("panel", g_.type(n), block * places);
  return found->second;
}

void pair_tiling::pack(const plan::pair_parts::sum& sum, const std::vector<std::int32_t>& panels,
                       const range& part, scope& at) {
  const node_id d = g_.arg(sum.reduce, 2);
  // A register at a time: it has nothing to wait for, and rows that are transposed take code for each lane.
  const element type = g_.type(sum.reduce);
  const int lanes = std::min(lanes_of(type), k_.known.call().vectors->register_bytes / row(type).bytes);
  loop lane(*this, at, f_.walk, lanes, part_), inner(*this, lane, d, 1, part);
  const ir::value to = place(inner, d, part.low, places, f_.walk, grid_);
  for (std::size_t i = 0; i < panels.size(); ++i)
    inner.block->store(panels[i], {to}, k_.emit(sum.packed[i], inner), ir::access::contiguous);
  inner.close();
  lane.close();
}

void pair_tiling::add_block(const plan::pair_parts::sum& sum, const std::vector<std::int32_t>& panels,
                            const range& part, bool goes_on, scope& at) {
  const bool whole = is_kept(g_.arg(sum.reduce, 0), sum.packed);
  loop lane(*this, at, f_.walk, lanes_of(g_.type(sum.reduce)), whole ? whole_tile(at) : part_);
  lane.block->head().whole = whole;
  rows_of_tile(lane, [&](const range& rows, scope& s) { add_rows(sum, panels, part, goes_on, rows, s); });
  lane.close();
}

void pair_tiling::add_rows(const plan::pair_parts::sum& sum, const std::vector<std::int32_t>& panels,
                           const range& part, bool goes_on, const range& rows, scope& at) {
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
  k_.combine_term(cell, q, k_.term_of(q), inner);
  inner.close();
  each.block->store(tile, {to}, each.block->read(cell), ir::access::contiguous);
  each.close();
}

bool pair_tiling::is_kept(node_id n, const std::vector<node_id>& packed) const {
  if (!plan::uses(g_, n, f_.walk) || ready_.contains(n) || std::ranges::count(packed, n) > 0) return true;
  if (!is_elementwise(g_.kind(n)) && g_.kind(n) != op::select && g_.kind(n) != op::cast) return false;
  for (int k = 0; k < g_[n].count; ++k)
    if (!is_kept(g_.arg(n, k), packed)) return false;
  return true;
}

range pair_tiling::whole_tile(scope& at) const {
  ir::block_builder& b = *at.block;
  const ir::value size = b.i64(places);
  return {grid_, b.emit(op::add, {grid_, size})};
}

void pair_tiling::keep_values(scope& at) {
  std::vector<node_id> list = values_;
  std::erase_if(list, [&](node_id v) { return ready_.contains(v); });
  if (list.empty()) return;
  loop lane(*this, at, f_.walk, lanes_, part_);
  rows_of_tile(lane, [&](const range& rows, scope& s) {
    loop each(*this, s, f_.rows, 1, rows);
    const ir::value to = place_of_pair(each);
    bind_maximum(each);
    for (const node_id v : list) bind_kept(v, ir::access::contiguous, each);
    for (const node_id v : list) each.block->store(tiles_.at(v), {to}, k_.emit(v, each), ir::access::contiguous);
    each.close();
  });
  lane.close();
  ready_.insert(values_.begin(), values_.end());
}

void kernel_lowering::pair_tiles(const plan::kernel_plan& k, scope& task, const range* rows) {
  const stage& s = *stages.front();
  open_loops outer(*this, task);
  for (const node_id idx : s.loops)
    if (idx != k.parallel) outer.enter(idx, 1);
  pair_tiling tiles(*this, stages);
  if (rows != nullptr) {
    tiles(*rows, *outer.inner);
    return outer.close();
  }
  scope& at = *outer.inner;
  const node_id idx = s.pairs().rows, size = integer(g, tuning::pair_tiles::rows_of_task);
  const ir::value low = emit(g.arg(idx, 0), at), high = emit(g.arg(idx, 1), at), step = emit(size, at);
  const node_id count = plan::blocks_in(g, plan::trips_of(g, idx), tuning::pair_tiles::rows_of_task);
  const ir::value zero = emit(integer(g, 0), at), end = emit(count, at);
  scope each(at, at.block->loop(ir::loop_kind::serial, index_text(idx) + "_block", zero, end));
  ir::block_builder& b = *each.block;
  const ir::value from = b.emit(op::add, {low, b.emit(op::mul, {b.counter(), step})});
  tiles({from, b.emit(op::minimum, {b.emit(op::add, {from, step}), high})}, each);
  each.close();
  outer.close();
}

}  // namespace sheaf::inline v0_1::lower
