// A tile of results that warps multiply: sums of products of two halves, see ir::mma_form. Blocks of the walk are
// copied into shared memory, those of 16 bytes that lie in a row without passing registers; while one is multiplied the
// next is on its way; by warpgroups, the one after that as well, and the one before may still be multiplied. Terms
// beyond the last one are zeros. See plan/group_tile.hpp.
#include <sheaf/jit/lower/group_tiling.hpp>
#include <sheaf/jit/plan/bounds.hpp>

namespace sheaf::inline v0_1::lower {

using namespace tuning::group_tile;

namespace {

class mma_tiling final : public group_tiling {
 public:
  using group_tiling::group_tiling;

  void fold(scope& task) override {
    const ir::value low = k_.emit(g_.arg(t_.walk, 0), task);
    high_ = k_.emit(g_.arg(t_.walk, 1), task);
    ir::block_builder& b = *task.block;
    form_.by_warpgroups = t_.warpgroups;
    form_.warps_of_rows = t_.warps_of_rows, form_.warps_of_columns = t_.warps_of_lanes;
    const std::int32_t lanes = form_.lanes();
    size_ = b.i64(block_);
    zero_ = b.i64(0), last_ = b.emit(op::sub, {high_, b.i64(1)});
    const ir::value whole = is_whole(task), cut = b.emit(op::logical_not, {whole});
    whole_ = whole;
    const ir::value trips = b.emit(op::maximum, {b.emit(op::sub, {high_, low}), zero_});
    const ir::value blocks = b.emit(op::quotient, {b.emit(op::add, {trips, b.i64(block_ - 1)}), size_});
    scope threads(task, b.loop(ir::loop_kind::vector, "thread", zero_, b.i64(lanes), lanes));
    threads_ = &threads;
    lay_out();
    for (int n = 0; n < t_.results_of_rows * t_.results_of_lanes; ++n)
      cells_.push_back(k_.cell_of(t_.reduce, threads, true));
    if (t_.warpgroups)
      walk_by_warpgroups(low, blocks);
    else
      walk_by_warps(low, blocks);
    for (const auto& [when, all] : {std::pair{whole, true}, std::pair{cut, false}}) {
      scope stored(threads, threads.block->guard(when));
      store(stored, all, all);
      stored.close();
    }
    threads.close();
  }

 private:
  void walk_by_warps(ir::value low, ir::value blocks) {
    threads_->block->await();  // of the tile before
    pack(*threads_, low, zero_);
    scope each(*threads_, blocks_of_walk(zero_, blocks));
    ir::block_builder& b = *each.block;
    const ir::value now = b.counter(), next = b.emit(op::add, {now, b.i64(1)});
    b.await();
    const ir::value stage = stage_of(b, now);
    pack(each, from_of(b, low, next), stage_of(b, next));
    b.mma(cells_, form_, stage);
    each.close();
  }
  // Of the stages one is multiplied, one may still be, and those after are copied.
  void walk_by_warpgroups(ir::value low, ir::value blocks) {
    constexpr auto ahead = static_cast<std::int32_t>(warpgroup_stages - 2);
    const ir::value count = threads_->block->i64(ahead);
    const auto pack_block = [&](scope& at, ir::value n) {
      ir::block_builder& b = *at.block;
      pack(at, from_of(b, low, n), stage_of(b, n), b.emit(op::less, {n, blocks}));
    };
    scope first(*threads_, blocks_of_walk(zero_, count));
    pack_block(first, first.block->counter());
    first.close();
    scope each(*threads_, blocks_of_walk(zero_, blocks));
    ir::block_builder& b = *each.block;
    b.await(ahead - 1, 1);
    b.mma(cells_, form_, stage_of(b, b.counter()));
    pack_block(each, b.emit(op::add, {b.counter(), count}));
    each.close();
    threads_->block->await();
  }
  ir::block_builder blocks_of_walk(ir::value low, ir::value high) {
    return threads_->block->loop(ir::loop_kind::serial, k_.index_text(t_.walk) + "_block", low, high);
  }
  ir::value from_of(ir::block_builder& b, ir::value low, ir::value n) {
    return b.emit(op::add, {low, b.emit(op::mul, {n, size_})});
  }
  ir::value stage_of(ir::block_builder& b, ir::value n) {
    return b.emit(op::remainder, {n, b.i64(t_.warpgroups ? warpgroup_stages : mma_stages)});
  }

  // What a thread copies of each block of the walk: some elements of a packed value, or one.
  struct copied {
    const plan::packed_value* packed;
    std::int32_t panel;
    std::unique_ptr<scope> at;  // its row or lane is bound
    ir::value walk, place;      // in the block and the tile
    ir::value row, column;      // in the panel
    ir::value left;             // elements from the place on that are within the tile's index
  };

  void lay_out() {
    ir::block_builder& b = *threads_->block;
    const ir::value lane = b.lanes(), warp = divided(lane, 32, op::quotient);
    const ir::value of_warp = divided(lane, 32, op::remainder);
    for (tile_side& each : sides_) {
      const bool rows = &each == &sides_[0];
      const op where = rows ? op::quotient : op::remainder;
      const std::int64_t of_one = (rows ? 8 : 4) * each.results;
      const ir::value first = b.emit(op::mul, {divided(warp, form_.warps_of_columns, where), b.i64(of_one)});
      const ir::value own = divided(of_warp, 4, where);
      const ir::value at = b.emit(op::add, {first, rows ? own : b.emit(op::mul, {own, b.i64(2)})});
      for (int n = 0; n < each.results; ++n) each.places.push_back(plus(at, rows ? 8 * n : 8 * (n / 2) + n % 2));
      add_panel(each);
    }
    form_.of_rows = sides_[0].panels.front(), form_.of_columns = sides_[1].panels.front();
    form_.rows_along = t_.of_rows.front().along_walk, form_.columns_along = t_.of_lanes.front().along_walk;
    form_.results_of_rows = t_.results_of_rows;
    form_.terms = static_cast<std::int32_t>(block_);
  }
  void add_panel(tile_side& of) {
    const plan::packed_value& p = of.packed->front();
    const std::int64_t rows = p.along_walk ? of.span : block_, row = p.along_walk ? block_ : of.span;
    const std::int64_t width = t_.warpgroups ? block_ : row + mma_pad, held = t_.warpgroups ? of.span : rows;
    const std::int64_t stages = t_.warpgroups ? warpgroup_stages : mma_stages;
    of.panels.push_back(ir::add_buffer(k_.code, {.name = "panel",
                                                 .type = g_.type(p.value),
                                                 .rank = 3,
                                                 .where = ir::role::local,
                                                 .elements = stages * held * width,
                                                 .unit_inner = true,
                                                 .extents = {stages, held, width}}));
    const std::int64_t at_once = p.as_it_lies ? ir::copied_bytes / 2 : 1, across = row / at_once;
    const ir::value lane = threads_->block->lanes();
    ir::value near = divided(lane, across, op::remainder);
    const ir::value far = divided(lane, across, op::quotient);
    if (at_once > 1) near = divided(near, at_once, op::mul);
    ir::value column = near, row_of_far = far;
    if (t_.warpgroups) permute(!p.along_walk, column, row_of_far);
    for (std::int64_t n = 0; n < rows * across; n += form_.lanes())
      add_copied(of, near, plus(far, n / across), plus(row_of_far, n / across), column);
  }
  // Where a run is in a panel that warpgroups read. Rows of a thread's copies are a multiple of 8 apart, so all are
  // permuted alike.
  void permute(bool in_blocks, ir::value& place, ir::value& row) {
    ir::block_builder& b = *threads_->block;
    const ir::value run = divided(divided(place, block_, op::remainder), ir::copied_bytes / 2, op::quotient);
    const ir::value before = divided(divided(place, block_, op::quotient), block_, op::mul);
    place = divided(b.emit(op::bit_xor, {run, divided(row, 8, op::remainder)}), ir::copied_bytes / 2, op::mul);
    if (in_blocks) row = b.emit(op::add, {before, row});
  }
  void add_copied(tile_side& of, ir::value near, ir::value far, ir::value row, ir::value column) {
    const plan::packed_value& p = of.packed->front();
    ir::block_builder& b = *threads_->block;
    const ir::value walk = p.along_walk ? near : far, place = p.along_walk ? far : near;
    const bool along_places = p.as_it_lies && !p.along_walk;  // so that those beyond the end are within a row
    auto at = std::make_unique<scope>(*threads_, &b);
    const ir::value idx = along_places ? b.emit(op::add, {of.first, place}) : index_at(of, place);
    at->bind_to(g_, of.idx, idx);
    const ir::value left = along_places ? plus(b.emit(op::sub, {of.last, idx}), 1) : ir::none;
    copied_.push_back({&p, of.panels.back(), std::move(at), walk, place, row, column, left});
  }

  // Copies a block of the walk from `from` on; all that lies as it does, where `when` holds.
  void pack(scope& around, ir::value from, ir::value stage, ir::value when = ir::none) {
    std::vector<std::function<void()>> copies;  // next to each other, as one thing decides how they are made
    const ir::value end = around.block->emit(op::add, {from, size_});
    const ir::value inside = around.block->emit(op::less_equal, {end, high_});
    const ir::value all_whole = around.block->emit(op::logical_and, {whole_, inside});
    for (const copied& c : copied_) {
      ir::block_builder& b = *around.block;
      const ir::value walk = b.emit(op::add, {from, c.walk});
      std::vector<ir::value> places = {stage, c.row, c.column};
      scope at(*c.at, &b);
      if (c.packed->as_it_lies)
        copies.push_back(copy(c, walk, std::move(places), at, all_whole, when));
      else
        store_one(c, walk, std::move(places), at);
    }
    for (const auto& make : copies) make();
  }
  std::function<void()> copy(const copied& c, ir::value walk, std::vector<ir::value> places, scope& at,
                             ir::value all_whole, ir::value when) {
    ir::block_builder& b = *at.block;
    const bool along = c.packed->along_walk;
    ir::value count = ir::none;
    if (along)
      count = b.emit(op::sub, {high_, walk});
    else
      count = b.emit(op::select, {b.emit(op::less, {walk, high_}), c.left, zero_});
    const node_id load = c.packed->value, tensor = g_.arg(load, 0);
    at.bind_to(g_, t_.walk, names_places(load) ? b.emit(op::minimum, {walk, last_}) : walk);
    std::vector<ir::value> from;
    for (int d = 0; d + 1 < g_[load].count; ++d)
      from.push_back(k_.emit(make(g_, op::sub, g_.arg(load, 1 + d), plan::low_of(g_, tensor, d)), at));
    const std::int32_t id = k_.buffers.at(tensor);
    return [&b, id, count, all_whole, when, panel = c.panel, places = std::move(places), from = std::move(from)] {
      b.copy(panel, places, id, from, count, all_whole, when);
    };
  }
  // Does what is at a place of the walk say where to load? Then there must be one.
  void store_one(const copied& c, ir::value walk, std::vector<ir::value> places, scope& at) {
    ir::block_builder& b = *at.block;
    at.bind_to(g_, t_.walk, b.emit(op::minimum, {walk, last_}));
    const ir::value value = k_.emit(c.packed->value, at), nothing = b.real(g_.type(c.packed->value), 0);
    b.store_apart(c.panel, std::move(places), b.emit(op::select, {b.emit(op::less, {walk, high_}), value, nothing}));
  }

  ir::mma_form form_;
  const std::int64_t block_ = t_.terms_of_block();
  ir::value high_ = ir::none, last_ = ir::none, zero_ = ir::none, size_ = ir::none, whole_ = ir::none;
  std::vector<copied> copied_;
};

}  // namespace

std::unique_ptr<group_tiling> mma_tiling_of(kernel_lowering& k, const plan::group_tile_form& form) {
  return std::make_unique<mma_tiling>(k, form);
}

}  // namespace sheaf::inline v0_1::lower
