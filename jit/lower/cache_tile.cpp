// A fold of many rows in blocks of the index that it walks, a panel of lanes at a time: what the rows share of a block
// is packed first, and what each row comes to is kept from block to block. See plan/cache_tile.hpp.
#include <sheaf/jit/lower/lowering.hpp>
#include <sheaf/jit/plan/cost.hpp>
#include <sheaf/jit/plan/mixed_precision.hpp>

namespace sheaf::inline v0_1::lower {

// elements: of so many rows of lanes.
std::int32_t kernel_lowering::panel(const char* name, element type, std::int64_t elements) {
  const std::int32_t id = ir::add_local(code, name, type, elements);
  buffer(id).by_iteration = true;
  return id;
}

class cache_tiling {
 public:
  cache_tiling(kernel_lowering& lowering, const plan::kernel_plan& k)
      : l_(lowering), g_(lowering.g), c_(k.cache), s_(*lowering.stages.front()), outer_(c_.walked) {
    for (const node_id n : c_.packed) panels_.push_back(l_.panel("panel", g_.type(n), c_.block * s_.lanes));
    const element type = plan::in_lanes(g_, c_.reduce, g_.type(c_.reduce));
    sums_ = l_.panel("sums", type, k.task.rows * s_.lanes);
    outer_.pop_back();
    if (!outer_.empty()) around_ = outer_.back(), outer_.pop_back();
  }

  // rows: of a task; of several indices they are counted from 0.
  void operator()(const range& rows, scope& task) {
    rows_ = rows;
    count_blocks(task);
    scope lane(task, l_.open(task, s_.vector, s_.lanes));
    l_.bind(lane, s_.vector, s_.lanes);
    scope each(lane, lane.block->loop(ir::loop_kind::serial, l_.index_text(c_.walk) + "_block", zero_, blocks_));
    find_block(each);
    pack(each);
    if (c_.inner.empty()) rows_of(each, rows_, rows_.low, block_);
    else rows_of_several(each);
    each.close();
    lane.close();
  }

 private:
  // A block of the walk, where walks are short of several iterations of the index around.
  struct walked {
    range part, several;
  };

  node_id at_least_one(node_id n) { return make(g_, op::maximum, n, integer(g_, 1)); }
  range range_of(node_id idx, scope& at) { return {l_.emit(g_.arg(idx, 0), at), l_.emit(g_.arg(idx, 1), at)}; }

  // Blocks: of the walk, of the index around it, and of the others.
  void count_blocks(scope& task) {
    const node_id walk = c_.walked.back(), none = integer(g_, 0);
    const node_id in_walk = plan::blocks_in(g_, plan::trips_of(g_, walk), c_.block);
    node_id in_both = in_walk, step = integer(g_, 1);
    if (around_ != no_node) {
      step = at_least_one(make(g_, op::quotient, integer(g_, c_.block), at_least_one(plan::trips_of(g_, walk))));
      in_both = make(g_, op::mul, in_walk, plan::ceil_quotient(g_, plan::trips_of(g_, around_), step));
    }
    node_id count = in_both;
    sizes_.push_back(l_.emit(at_least_one(in_both), task));
    for (const node_id idx : outer_) {
      count = make(g_, op::mul, count, plan::trips_of(g_, idx));
      sizes_.push_back(l_.emit(at_least_one(plan::trips_of(g_, idx)), task));
    }
    all_.part = range_of(walk, task);
    zero_ = l_.emit(none, task), size_ = l_.emit(integer(g_, c_.block), task);
    blocks_ = l_.emit(at_least_one(count), task);  // a fold of nothing has a result too
    before_last_ = task.block->emit(op::sub, {blocks_, l_.emit(integer(g_, 1), task)});
    if (around_ != no_node) {
      const node_id some = make(g_, op::less, none, count);
      all_.part.high = l_.emit(make(g_, op::select, some, g_.arg(walk, 1), g_.arg(walk, 0)), task);
      all_.several = range_of(around_, task);
      in_walk_ = l_.emit(at_least_one(in_walk), task), step_ = l_.emit(step, task);
    }
    if (c_.inner.empty()) return;
    of_rows_ = l_.emit(at_least_one(plan::trips_of(g_, c_.rows)), task);
    first_row_ = l_.emit(g_.arg(c_.rows, 0), task);
    inner_sizes_.push_back(l_.emit(integer(g_, 1), task));
    for (const node_id idx : c_.inner) inner_sizes_.push_back(l_.emit(at_least_one(plan::trips_of(g_, idx)), task));
  }

  void find_block(scope& each) {
    ir::block_builder& b = *each.block;
    const auto part_of = [&](const range& all, ir::value place, ir::value length) {
      const ir::value from = b.emit(op::add, {all.low, b.emit(op::mul, {place, length})});
      return range{from, b.emit(op::minimum, {b.emit(op::add, {from, length}), all.high})};
    };
    ir::value place = l_.bind_batch(outer_, sizes_, each);
    if (around_ != no_node) {
      block_.several = part_of(all_.several, b.emit(op::quotient, {place, in_walk_}), step_);
      place = b.emit(op::remainder, {place, in_walk_});
    }
    block_.part = part_of(all_.part, place, size_);
    more_ = b.emit(op::less, {zero_, b.counter()}), last_ = b.emit(op::equal, {b.counter(), before_last_});
  }

  // Copies the block's part of what all rows share.
  void pack(scope& at) {
    walk_block(at, c_.walked, block_, "_packed", [&](scope& inner, ir::value place) {
      for (std::size_t i = 0; i < c_.packed.size(); ++i)
        inner.block->store(panels_[i], {place}, l_.emit(c_.stored[i], inner), ir::access::contiguous);
    });
  }

  // Each iteration of a block, or of what there is of it, with the place of its lanes in a panel.
  template <class Body>
  void walk_block(scope& at, const std::vector<node_id>& walks, const walked& w, const char* suffix, const Body& body) {
    const auto run = [&](scope& outer, ir::value before) {
      scope inner(outer, l_.open(outer, walks.back(), 1, &w.part, suffix));
      l_.bind(inner, walks.back(), 1);
      ir::block_builder& b = *inner.block;
      ir::value position = b.emit(op::sub, {b.counter(), block_.part.low});
      if (before != ir::none) position = b.emit(op::add, {before, position});
      body(inner, b.emit(op::mul, {position, b.i64(s_.lanes)}));
      inner.close();
    };
    if (around_ == no_node) return run(at, ir::none);
    const node_id around = walks[walks.size() - 2];
    scope outer(at, l_.open(at, around, 1, &w.several, suffix));
    l_.bind(outer, around, 1);
    ir::block_builder& b = *outer.block;
    const ir::value size = b.emit(op::sub, {block_.part.high, block_.part.low});
    run(outer, b.emit(op::mul, {b.emit(op::sub, {b.counter(), block_.several.low}), size}));
    outer.close();
  }

  // Rows of several indices: of each of these some of the rows, in the part of the block that they walk.
  void rows_of_several(scope& each) {
    ir::block_builder& b = *each.block;
    const ir::value before_end = b.emit(op::sub, {b.emit(op::add, {rows_.high, of_rows_}), b.i64(1)});
    scope at(each, b.loop(ir::loop_kind::serial, l_.index_text(c_.inner.front()) + "_of_block",
                          b.emit(op::quotient, {rows_.low, of_rows_}), b.emit(op::quotient, {before_end, of_rows_})));
    l_.bind_batch(c_.inner, inner_sizes_, at);
    ir::block_builder& q = *at.block;
    const ir::value before = q.emit(op::mul, {q.counter(), of_rows_});
    const ir::value skipped = q.emit(op::maximum, {q.emit(op::sub, {rows_.low, before}), zero_});
    const ir::value end = q.emit(op::minimum, {q.emit(op::sub, {rows_.high, before}), of_rows_});
    const range rows{q.emit(op::add, {first_row_, skipped}), q.emit(op::add, {first_row_, end})};
    const ir::value task_begin = q.emit(op::add, {q.emit(op::sub, {rows_.low, before}), first_row_});
    rows_of(at, rows, task_begin, own_part(at));
    at.close();
  }

  // Of the block, what the rows at hand walk. Their own outer indices are bound to the block's, at places outside of
  // their ranges too, where the walk is empty: no load is of them alone (packing.cpp).
  walked own_part(scope& at) {
    const std::vector<node_id> own = plan::loops_of(g_, c_.reduce, no_node);
    walked w = block_;
    ir::block_builder& b = *at.block;
    const auto narrow = [&](range& part, node_id idx) {
      const range r = range_of(idx, at);
      part = {b.emit(op::maximum, {part.low, r.low}), b.emit(op::minimum, {part.high, r.high})};
    };
    for (std::size_t n = 0; n < own.size(); ++n) {
      if (own[n] == c_.walked[n]) continue;
      if (n + 1 == own.size()) {
        narrow(w.part, own[n]);
      } else if (c_.walked[n] == around_) {
        narrow(w.several, own[n]);
      } else {
        const ir::value place = l_.emit(c_.walked[n], at);
        const range r = range_of(own[n], at);
        const ir::value inside =
            b.emit(op::logical_and, {b.emit(op::less_equal, {r.low, place}), b.emit(op::less, {place, r.high})});
        at.bind_to(g_, own[n], place);
        w.part.high = b.emit(op::select, {inside, w.part.high, w.part.low});
      }
    }
    return w;
  }

  // begin: the row whose sums are the first of the task's.
  void rows_of(scope& at, const range& rows, ir::value begin, const walked& w) {
    scope row(at, l_.open(at, c_.rows, 1, &rows));
    l_.bind(row, c_.rows, 1);
    ir::block_builder& r = *row.block;
    const ir::value place = r.emit(op::mul, {r.emit(op::sub, {r.counter(), begin}), r.i64(s_.lanes)});
    const ir::value cell = l_.cell_of(c_.reduce, row, true);
    const element type = l_.buffer(sums_).type;
    scope again(row, r.guard(more_));
    again.block->combine(cell, again.block->load(sums_, type, {place}, ir::access::contiguous));
    again.close();
    walk_block(row, plan::loops_of(g_, c_.reduce, no_node), w, "", [&](scope& inner, ir::value at_walk) {
      for (std::size_t i = 0; i < c_.packed.size(); ++i)
        inner.set(c_.packed[i],
                  inner.block->load(panels_[i], l_.buffer(panels_[i]).type, {at_walk}, ir::access::contiguous));
      l_.combine_term(cell, c_.reduce, l_.term_of(c_.reduce), inner);
    });
    scope keeps(row, r.guard(r.emit(op::logical_not, {last_})));
    keeps.block->store(sums_, {place}, keeps.block->read(cell), ir::access::contiguous);
    keeps.close();
    scope done(row, r.guard(last_));
    l_.take_result(c_.reduce, cell, done, false);
    l_.store_result(s_, done);
    done.close();
    row.close();
  }

  kernel_lowering& l_;
  graph& g_;
  const plan::cache_tile_form& c_;
  const stage& s_;
  node_id around_ = no_node;    // the index within which the walk runs; none: there is no other
  std::vector<node_id> outer_;  // those around both
  std::vector<std::int32_t> panels_;  // of what is packed
  std::int32_t sums_;                 // of what rows came to in the blocks before
  range rows_;
  std::vector<ir::value> sizes_, inner_sizes_;
  walked all_, block_;
  ir::value zero_, size_, blocks_, before_last_, in_walk_, step_, of_rows_, first_row_;
  ir::value more_, last_;  // blocks were before; none are left
};

void kernel_lowering::cache_tiled(const plan::kernel_plan& k, const range& rows, scope& task) {
  cache_tiling(*this, k)(rows, task);
}

}  // namespace sheaf::inline v0_1::lower
