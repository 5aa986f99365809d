// A tile of results for a block of threads, as lanes of one vector loop: where tiles and a thread's results are, and
// how those are stored. What differs is how they are folded: group_tile.cpp, mma_tile.cpp. Rows and columns beyond the
// end stand for the last one, and are not stored.
#pragma once
#include <sheaf/jit/lower/lowering.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::lower {

class group_tiling {
 public:
  group_tiling(kernel_lowering& k, const plan::group_tile_form& form)
      : k_(k), g_(k.g), t_(form), s_(*k.stages.front()) {
    sides_[0] = {.idx = t_.rows, .packed = &t_.of_rows, .results = t_.results_of_rows, .span = t_.rows_of_tile()};
    sides_[1] = {.idx = t_.lane, .packed = &t_.of_lanes, .results = t_.results_of_lanes, .span = t_.lanes_of_tile()};
  }
  virtual ~group_tiling() = default;

  // How many tiles there are along each index, the last one's next to each other.
  std::vector<node_id> counts();
  // A tile: of which batch, and where its rows and lanes begin.
  void find_place(scope& task, std::span<const ir::value> counts);
  virtual void fold(scope& task) = 0;

 protected:
  struct tile_side {
    node_id idx = no_node;
    const std::vector<plan::packed_value>* packed = nullptr;
    int results = 1;        // of a thread
    std::int64_t span = 0;  // of the tile
    ir::value first = ir::none, last = ir::none;
    std::vector<std::int32_t> panels = {};
    std::vector<ir::value> places = {};  // of a thread's results in the tile
  };

  // Row or lane `place` of a tile, in vectors.
  ir::value index_at(const tile_side& of, ir::value place) {
    ir::block_builder& b = *threads_->block;
    return b.emit(op::minimum, {b.emit(op::add, {of.first, place}), of.last});
  }
  ir::value divided(ir::value x, std::int64_t by, op what) {
    return threads_->block->emit(what, {x, threads_->block->i64(by)});
  }
  ir::value plus(ir::value x, std::int64_t n) {
    return n == 0 ? x : threads_->block->emit(op::add, {x, threads_->block->i64(n)});
  }
  // Do places of the walk go through data? Then none beyond its last is asked.
  bool names_places(node_id load) const {
    const auto by_place = [&](node_id n) { return g_.kind(n) == op::load && plan::uses(g_, n, t_.walk); };
    for (int d = 1; d < g_[load].count; ++d)
      if (plan::any_node(g_, g_.arg(load, d), by_place)) return true;
    return false;
  }
  // whole: no row or column of the tile is beyond the end. in_pairs: columns of a thread are two and two.
  void store(scope& around, bool whole, bool in_pairs = false);
  ir::value is_whole(scope& task);

  kernel_lowering& k_;
  graph& g_;
  const plan::group_tile_form& t_;
  const stage& s_;
  tile_side sides_[2];
  scope* threads_ = nullptr;
  std::vector<ir::value> cells_;  // row by row
};

std::unique_ptr<group_tiling> mma_tiling_of(kernel_lowering& k, const plan::group_tile_form& form);

}  // namespace sheaf::inline v0_1::lower
