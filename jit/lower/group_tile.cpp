// A tile of results for a block of threads: 16 x 16 of them, as lanes of one vector loop. Thread (y, x) has results in
// fours: rows 4 y to 4 y + 3 of each 64, columns 4 x to 4 x + 3 (of 8 bytes in twos), so that it loads 16
// bytes of a packed row at once. The group packs a block of the walk, folds it, and packs the next, which is on its way
// before where it is only copied; a block that is not whole comes last. See plan/group_tile.hpp.
#include <sheaf/jit/lower/group_tiling.hpp>
#include <sheaf/jit/plan/bounds.hpp>
#include <sheaf/jit/plan/mixed_precision.hpp>

namespace sheaf::inline v0_1::lower {

using namespace tuning::group_tile;

std::vector<node_id> group_tiling::counts() {
  std::vector<node_id> list;
  for (const node_id idx : t_.batch) list.push_back(plan::trips_of(g_, idx));
  for (const tile_side& each : sides_) list.push_back(plan::blocks_in(g_, plan::trips_of(g_, each.idx), each.span));
  return list;
}

void group_tiling::find_place(scope& task, std::span<const ir::value> counts) {
  ir::block_builder& b = *task.block;
  ir::value rest = b.counter();
  for (std::size_t n = counts.size(); n-- > 0;) {
    const ir::value at = n == 0 ? rest : b.emit(op::remainder, {rest, counts[n]});
    if (n > 0) rest = b.emit(op::quotient, {rest, counts[n]});
    const bool batch = n < t_.batch.size();
    const node_id idx = batch ? t_.batch[n] : sides_[n - t_.batch.size()].idx;
    const ir::value low = k_.emit(g_.arg(idx, 0), task);
    if (batch) {
      task.bind_to(g_, idx, b.emit(op::add, {low, at}));
      continue;
    }
    tile_side& to = sides_[n - t_.batch.size()];
    const ir::value size = b.i64(to.span), high = k_.emit(g_.arg(idx, 1), task);
    to.first = b.emit(op::add, {low, b.emit(op::mul, {at, size})});
    to.last = b.emit(op::sub, {high, b.i64(1)});
  }
}

ir::value group_tiling::is_whole(scope& task) {
  ir::block_builder& b = *task.block;
  const auto fits = [&](const tile_side& of) {
    return b.emit(op::less_equal, {b.emit(op::add, {of.first, b.i64(of.span - 1)}), of.last});
  };
  const ir::value rows = fits(sides_[0]), columns = fits(sides_[1]);
  return b.emit(op::logical_and, {rows, columns});
}

void group_tiling::store(scope& around, bool whole, bool in_pairs) {
  ir::block_builder& b = *around.block;
  const bool pairs = in_pairs && s_.indices.back() == t_.lane && k_.buffer(k_.buffers.at(s_.define)).unit_inner;
  const auto index = [&](const tile_side& of, ir::value place) {
    const ir::value at = b.emit(op::add, {of.first, place});
    return whole ? at : b.emit(op::minimum, {at, of.last});
  };
  const auto is_inside = [&](const tile_side& of, ir::value place) {
    return whole ? ir::none : b.emit(op::less_equal, {b.emit(op::add, {of.first, place}), of.last});
  };
  std::vector<ir::value> inside;
  for (const ir::value place : sides_[1].places) inside.push_back(is_inside(sides_[1], place));
  for (std::size_t r = 0; r < sides_[0].places.size(); ++r) {
    const ir::value in_row = is_inside(sides_[0], sides_[0].places[r]);
    scope row(around, &b);
    row.bind_to(g_, t_.rows, index(sides_[0], sides_[0].places[r]));
    for (std::size_t c = 0; c < inside.size(); ++c) {
      scope at(row, &b);
      at.bind_to(g_, t_.lane, index(sides_[1], sides_[1].places[c]));
      k_.take_result(t_.reduce, cells_[r * inside.size() + c], at, false);
      const ir::value value = k_.emit(s_.body, at);
      k_.store(s_, value, at, whole ? ir::none : b.emit(op::logical_and, {in_row, inside[c]}));
      b.last().pairs = pairs;
    }
  }
}

namespace {

// Each thread folds its results from what is packed, term by term.
class thread_tiling final : public group_tiling {
 public:
  using group_tiling::group_tiling;

  void fold(scope& task) override {
    const ir::value low = k_.emit(g_.arg(t_.walk, 0), task), high = k_.emit(g_.arg(t_.walk, 1), task);
    ir::block_builder& b = *task.block;
    zero_ = b.i64(0), size_ = b.i64(block);
    last_ = b.emit(op::sub, {high, b.i64(1)});
    const ir::value trips = b.emit(op::maximum, {b.emit(op::sub, {high, low}), zero_});
    const ir::value blocks = b.emit(op::quotient, {trips, size_}), rest = b.emit(op::remainder, {trips, size_});
    const ir::value is_rest = b.emit(op::less, {zero_, rest});
    if (t_.copied) whole_ = is_whole(task);
    scope threads(task, b.loop(ir::loop_kind::vector, "thread", zero_, b.i64(side * side), side * side));
    threads_ = &threads;
    lay_out();
    const int results = t_.results_of_rows * t_.results_of_lanes;
    for (int n = 0; n < results; ++n) cells_.push_back(k_.cell_of(t_.reduce, threads, true));
    if (t_.copied)
      walk_copied(low, blocks);
    else
      walk_packed(low, blocks);
    scope left(threads, threads.block->guard(is_rest));
    const ir::value from_rest = from_of(left, low, blocks), stage = stage_of(left, blocks);
    if (t_.copied) {
      copy(left, from_rest, stage, ir::none, true);
      left.block->await();
    } else {
      pack(left, from_rest, true);
    }
    walk_block(left, from_rest, rest, 1, stage);
    left.close();
    store(threads, false);
    threads.close();
  }

 private:
  void walk_packed(ir::value low, ir::value blocks) {
    scope each(*threads_, blocks_of_walk(blocks));
    const ir::value from = from_of(each, low, each.block->counter());
    pack(each, from, false);
    walk_block(each, from, size_, t_.calls ? 1 : unrolled, ir::none);
    each.close();
  }
  // In two stages: one is folded while the next is copied.
  void walk_copied(ir::value low, ir::value blocks) {
    threads_->block->await();  // of the tile before
    copy(*threads_, low, zero_, threads_->block->emit(op::less, {zero_, blocks}), false);
    scope each(*threads_, blocks_of_walk(blocks));
    ir::block_builder& b = *each.block;
    const ir::value now = b.counter(), next = b.emit(op::add, {now, b.i64(1)});
    b.await();
    copy(each, from_of(each, low, next), stage_of(each, next), b.emit(op::less, {next, blocks}), false);
    walk_block(each, from_of(each, low, now), size_, t_.calls ? 1 : unrolled, stage_of(each, now));
    each.close();
  }
  ir::block_builder blocks_of_walk(ir::value blocks) {
    return threads_->block->loop(ir::loop_kind::serial, k_.index_text(t_.walk) + "_block", zero_, blocks);
  }
  ir::value from_of(scope& at, ir::value low, ir::value n) {
    return at.block->emit(op::add, {low, at.block->emit(op::mul, {n, size_})});
  }
  ir::value stage_of(scope& at, ir::value n) {
    return t_.copied ? at.block->emit(op::remainder, {n, at.block->i64(stages)}) : ir::none;
  }
  static std::vector<ir::value> in_stage(ir::value stage, std::vector<ir::value> places) {
    if (stage != ir::none) places.insert(places.begin(), stage);
    return places;
  }

  // What a thread copies of a packed value for each block of the walk: an element, or a run of them.
  struct copied {
    node_id value;
    std::int32_t panel;
    std::unique_ptr<scope> at;  // its row or lane is bound
    ir::value walk, place;      // in the panel
    ir::value left;             // runs: elements from the place on that are within the tile's index
  };
  void lay_out() {
    ir::block_builder& b = *threads_->block;
    const element type = plan::in_lanes(g_, t_.reduce, g_.type(t_.reduce));
    const int run = 16 / std::max(4, row(type).bytes);
    for (tile_side& each : sides_) {
      const op what = &each == &sides_[0] ? op::quotient : op::remainder;
      const ir::value at = b.emit(op::mul, {divided(b.lanes(), side, what), b.i64(run)});
      for (int n = 0; n < each.results; ++n) each.places.push_back(plus(at, n % run + side * run * (n / run)));
      for (const plan::packed_value& p : *each.packed) add_panel(each, p);
    }
  }
  void add_panel(tile_side& of, const plan::packed_value& p) {
    const std::int64_t width = of.span + pad;
    std::vector<std::int64_t> extents = {block, width};
    if (t_.copied) extents.insert(extents.begin(), stages);
    of.panels.push_back(ir::add_buffer(k_.code, {.name = "panel",
                                                 .type = g_.type(p.value),
                                                 .rank = static_cast<int>(extents.size()),
                                                 .where = ir::role::local,
                                                 .elements = (t_.copied ? stages : 1) * block * width,
                                                 .unit_inner = true,
                                                 .extents = extents}));
    ir::block_builder& b = *threads_->block;
    const bool runs = t_.copied && p.as_it_lies;
    const std::int64_t at_once = runs ? ir::copied_bytes / row(g_.type(p.value)).bytes : 1;
    const std::int64_t across = p.along_walk ? block : of.span / at_once;  // of neighbouring threads
    ir::value near = divided(b.lanes(), across, op::remainder);
    const ir::value far = divided(b.lanes(), across, op::quotient);
    if (runs) near = divided(near, at_once, op::mul);
    for (std::int64_t n = 0; n < of.results / at_once; ++n) {
      const ir::value next = plus(far, n * (side * side / across));
      const ir::value walk = p.along_walk ? near : next, place = p.along_walk ? next : near;
      auto at = std::make_unique<scope>(*threads_, threads_->block);
      const ir::value idx = runs ? b.emit(op::add, {of.first, place}) : index_at(of, place);
      at->bind_to(g_, of.idx, idx);
      const ir::value left = runs ? plus(b.emit(op::sub, {of.last, idx}), 1) : ir::none;
      copied_.push_back({p.value, of.panels.back(), std::move(at), walk, place, left});
    }
  }

  // The same without registers. when: it is made at all; none: always.
  void copy(scope& around, ir::value from, ir::value stage, ir::value when, bool is_rest) {
    std::vector<std::function<void()>> copies;  // next to each other
    for (const copied& c : copied_) {
      ir::block_builder& b = *around.block;
      scope at(*c.at, &b);
      const ir::value walk = b.emit(op::add, {from, c.walk});
      at.bind_to(g_, t_.walk, is_rest || names_places(c.value) ? b.emit(op::minimum, {walk, last_}) : walk);
      const node_id tensor = g_.arg(c.value, 0);
      std::vector<ir::value> subscripts;
      for (int d = 0; d + 1 < g_[c.value].count; ++d)
        subscripts.push_back(k_.emit(make(g_, op::sub, g_.arg(c.value, 1 + d), plan::low_of(g_, tensor, d)), at));
      copies.push_back([&b, &c, stage, when, subscripts, id = k_.buffers.at(tensor), whole = whole_] {
        b.copy(c.panel, {stage, c.walk, c.place}, id, subscripts, c.left, whole, when);
      });
    }
    for (const auto& make_copy : copies) make_copy();
  }

  // Copies a block of the walk from `from` on. is_rest: it may go on beyond the last iteration, which then stands for
  // those.
  void pack(scope& around, ir::value from, bool is_rest) {
    ir::block_builder& b = *around.block;
    std::vector<ir::value> values;
    for (const copied& c : copied_) {
      scope at(*c.at, &b);
      const ir::value walk = b.emit(op::add, {from, c.walk});
      at.bind_to(g_, t_.walk, is_rest ? b.emit(op::minimum, {walk, last_}) : walk);
      values.push_back(k_.emit(c.value, at));
    }
    for (std::size_t n = 0; n < values.size(); ++n)
      b.store_apart(copied_[n].panel, {copied_[n].walk, copied_[n].place}, values[n]);
  }

  // Does a term depend on its row or lane by what is not packed?
  bool reaches(node_id n, node_id idx) const {
    for (const tile_side& each : sides_)
      for (const plan::packed_value& p : *each.packed)
        if (p.value == n) return false;
    if (n == idx) return true;
    if (!plan::uses(g_, n, idx) || g_.kind(n) == op::index) return false;
    for (int k = g_.kind(n) == op::load ? 1 : 0; k < g_[n].count; ++k)
      if (reaches(g_.arg(n, k), idx)) return true;
    return false;
  }

  void walk_block(scope& around, ir::value from, ir::value count, std::int32_t unroll, ir::value stage) {
    const node_id term = g_.arg(t_.reduce, 0);
    scope inner(around, around.block->loop(ir::loop_kind::serial, k_.index_text(t_.walk), zero_, count));
    ir::block_builder& b = *inner.block;
    b.head().unroll = unroll;
    const ir::value walk = b.emit(op::add, {from, b.counter()});
    inner.bind_to(g_, t_.walk, walk);
    std::vector<std::pair<node_id, ir::value>> shared;  // of the walk alone
    plan::for_each_node(g_, term, [&](node_id n) {
      const bool alone = plan::uses(g_, n, t_.walk) && !plan::uses(g_, n, t_.rows) && !plan::uses(g_, n, t_.lane);
      if (g_.kind(n) == op::load && alone) shared.push_back({n, k_.emit(n, inner)});
    });
    std::vector<std::vector<ir::value>> values[2];  // by side, packed value and result
    for (int side_of = 0; side_of < 2; ++side_of)
      for (const std::int32_t panel : sides_[side_of].panels) {
        values[side_of].emplace_back();
        for (const ir::value place : sides_[side_of].places)
          values[side_of].back().push_back(
              b.load(panel, k_.buffer(panel).type, in_stage(stage, {b.counter(), place}), ir::access::gather));
      }
    for (std::size_t n = 0; n < cells_.size(); ++n) {
      scope cell(*scope_of_term(n), &b);
      cell.bind_to(g_, t_.walk, walk);
      for (const auto& [load, value] : shared) cell.set(load, value);
      for (int side_of = 0; side_of < 2; ++side_of)
        for (std::size_t p = 0; p < values[side_of].size(); ++p)
          cell.set((*sides_[side_of].packed)[p].value, values[side_of][p][result(n, side_of)]);
      k_.combine_term(cells_[n], t_.reduce, k_.term_of(t_.reduce), cell);
    }
    inner.close();
  }
  std::size_t result(std::size_t cell, int side_of) const {
    const auto width = static_cast<std::size_t>(t_.results_of_lanes);
    return side_of == 0 ? cell / width : cell % width;
  }

  // Binds the row and the lane of a cell, around the loops of the walk: values of each, as far as a term needs them.
  scope* scope_of_term(std::size_t cell) {
    for (; term_scopes_.size() < cells_.size();) {
      const std::size_t n = term_scopes_.size();
      if (result(n, 1) == 0) row_scopes_.push_back(bound(*threads_, 0, n));
      term_scopes_.push_back(bound(*row_scopes_.back(), 1, n));
    }
    return term_scopes_[cell].get();
  }
  std::unique_ptr<scope> bound(scope& outer, int side_of, std::size_t cell) {
    const tile_side& of = sides_[side_of];
    auto made = std::make_unique<scope>(outer, threads_->block);
    if (reaches(g_.arg(t_.reduce, 0), of.idx))
      made->bind_to(g_, of.idx, index_at(of, of.places[result(cell, side_of)]));
    else
      made->bound.insert(g_.ordinal(of.idx));
    return made;
  }

  ir::value zero_ = ir::none, size_ = ir::none, last_ = ir::none, whole_ = ir::none;
  std::vector<copied> copied_;
  std::vector<std::unique_ptr<scope>> row_scopes_, term_scopes_;
};

}  // namespace

void kernel_lowering::group_tiled(const plan::kernel_plan& k, scope& top) {
  const std::unique_ptr<group_tiling> tiling =
      k.group.mma ? mma_tiling_of(*this, k.group) : std::make_unique<thread_tiling>(*this, k.group);
  const node_id when = stages.front()->when;
  std::vector<ir::value> counts;
  node_id all = integer(g, 1);
  for (const node_id n : tiling->counts()) {
    counts.push_back(emit(n, top));
    all = make(g, op::mul, all, n);
  }
  const ir::value zero = emit(integer(g, 0), top);
  const ir::value count = emit(when == no_node ? all : make(g, op::select, when, all, integer(g, 0)), top);
  top.before_tasks = true;
  scope task(top, top.block->loop(ir::loop_kind::parallel, "tile", zero, count));
  task.block->head().cost = cost_of_task(k);
  tiling->find_place(task, counts);
  tiling->fold(task);
  mark_stored(*stages.front());
  task.close();
}

}  // namespace sheaf::inline v0_1::lower
