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

// A block of the walked index, where the rows of a panel are folded. Of short walks it has those of several iterations
// of the index around.
struct kernel_lowering::walked_block {
  const plan::cache_tile_form& c;
  range part;
  node_id around;  // none: there is no such index
  range several;
  std::span<const std::int32_t> panels;  // of what is packed
  std::int32_t sums;                     // of what rows came to in the blocks before
  ir::value more, last;                  // blocks were before; none are left
};

// Copies the block's part of what all rows share.
void kernel_lowering::pack(const walked_block& w, scope& at) {
  const plan::cache_tile_form& c = w.c;
  walk_block(w, at, "_packed", [&](scope& inner, ir::value place) {
    for (std::size_t i = 0; i < c.packed.size(); ++i)
      inner.block->store(w.panels[i], {place}, emit(c.packed[i], inner), ir::access::contiguous);
  });
}

// Each iteration of a block, with the place of its lanes in a panel.
void kernel_lowering::walk_block(const walked_block& w, scope& at, const char* suffix,
                                 const std::function<void(scope&, ir::value)>& body) {
  const int lanes = stages.front()->lanes;
  const node_id walk = w.c.walk;
  const auto run = [&](scope& outer, ir::value before) {
    scope inner(outer, open(outer, walk, 1, &w.part, suffix));
    bind(inner, walk, 1);
    ir::block_builder& b = *inner.block;
    ir::value position = b.emit(op::sub, {b.counter(), w.part.low});
    if (before != ir::none) position = b.emit(op::add, {before, position});
    body(inner, b.emit(op::mul, {position, b.i64(lanes)}));
    inner.close();
  };
  if (w.around == no_node) return run(at, ir::none);
  scope outer(at, open(at, w.around, 1, &w.several, suffix));
  bind(outer, w.around, 1);
  ir::block_builder& b = *outer.block;
  const ir::value size = b.emit(op::sub, {w.part.high, w.part.low});
  run(outer, b.emit(op::mul, {b.emit(op::sub, {b.counter(), w.several.low}), size}));
  outer.close();
}

// Where the lanes of the iteration stand: iterations one after the other.
ir::value kernel_lowering::place_in_panel(scope& loop, const range& part, int lanes) {
  ir::block_builder& b = *loop.block;
  const ir::value count = b.i64(lanes), before = b.emit(op::sub, {b.counter(), part.low});
  return b.emit(op::mul, {before, count});
}

// The rows of one block.
void kernel_lowering::rows_of_block(const walked_block& w, const range& rows, scope& at) {
  const plan::cache_tile_form& c = w.c;
  const std::int32_t sums = w.sums;
  const stage& s = *stages.front();
  scope row(at, open(at, c.rows, 1, &rows));
  bind(row, c.rows, 1);
  const ir::value place = place_in_panel(row, rows, s.lanes), cell = cell_of(c.reduce, row, true);
  const element type = buffer(sums).type;
  scope again(row, row.block->guard(w.more));
  again.block->combine(cell, again.block->load(sums, type, {place}, ir::access::contiguous));
  again.close();
  walk_block(w, row, "", [&](scope& inner, ir::value at_walk) {
    for (std::size_t i = 0; i < c.packed.size(); ++i)
      inner.set(c.packed[i],
                inner.block->load(w.panels[i], buffer(w.panels[i]).type, {at_walk}, ir::access::contiguous));
    combine_term(cell, c.reduce, term_of(c.reduce), inner);
  });
  const ir::value left = row.block->emit(op::logical_not, {w.last});
  scope keeps(row, row.block->guard(left));
  keeps.block->store(sums, {place}, keeps.block->read(cell), ir::access::contiguous);
  keeps.close();
  scope done(row, row.block->guard(w.last));
  take_result(c.reduce, cell, done, false);
  store_result(s, done);
  done.close();
  row.close();
}

void kernel_lowering::cache_tiled(const plan::kernel_plan& k, const range& rows, scope& task) {
  const plan::cache_tile_form& c = k.cache;
  const stage& s = *stages.front();
  std::vector<std::int32_t> panels;
  for (const node_id n : c.packed) panels.push_back(panel("panel", g.type(n), c.block * s.lanes));
  const element type = plan::in_lanes(g, c.reduce, g.type(c.reduce));
  const std::int32_t sums = panel("sums", type, k.task.rows * s.lanes);
  // Blocks: of the walk, of the index around it, and of the others.
  std::vector<node_id> outer = plan::loops_of(g, c.reduce, no_node);
  outer.pop_back();
  const node_id around = outer.empty() ? no_node : outer.back(), one = integer(g, 1), none = integer(g, 0);
  if (around != no_node) outer.pop_back();
  const node_id in_walk = plan::blocks_in(g, plan::trips_of(g, c.walk), c.block);
  node_id in_both = in_walk, step = one;
  if (around != no_node) {
    const node_id walked = make(g, op::maximum, plan::trips_of(g, c.walk), one);
    step = make(g, op::maximum, make(g, op::quotient, integer(g, c.block), walked), one);
    in_both = make(g, op::mul, in_walk, plan::ceil_quotient(g, plan::trips_of(g, around), step));
  }
  node_id count = in_both;
  std::vector<ir::value> sizes{ir::none};
  for (const node_id idx : outer) {
    count = make(g, op::mul, count, plan::trips_of(g, idx));
    sizes.push_back(emit(make(g, op::maximum, plan::trips_of(g, idx), one), task));
  }
  if (!outer.empty()) sizes[0] = emit(make(g, op::maximum, in_both, one), task);
  const ir::value low = emit(g.arg(c.walk, 0), task), high = emit(g.arg(c.walk, 1), task), zero = emit(none, task),
                  size = emit(integer(g, c.block), task);
  const ir::value blocks = emit(make(g, op::maximum, count, one), task);  // a fold of nothing has a result too
  const ir::value before_last = task.block->emit(op::sub, {blocks, emit(one, task)});
  const bool nested = around != no_node;
  const ir::value end =
      nested ? emit(make(g, op::select, make(g, op::less, none, count), g.arg(c.walk, 1), g.arg(c.walk, 0)), task)
             : high;
  const ir::value of_walk = nested ? emit(make(g, op::maximum, in_walk, one), task) : ir::none;
  range several;
  if (nested) several = {emit(g.arg(around, 0), task), emit(g.arg(around, 1), task)};
  const ir::value steps = nested ? emit(step, task) : ir::none;
  scope lane(task, open(task, s.vector, s.lanes));
  bind(lane, s.vector, s.lanes);
  scope each(lane, lane.block->loop(ir::loop_kind::serial, index_text(c.walk) + "_block", zero, blocks));
  ir::block_builder& b = *each.block;
  const auto part_of = [&](const range& all, ir::value place, ir::value length) {
    const ir::value from = b.emit(op::add, {all.low, b.emit(op::mul, {place, length})});
    return range{from, b.emit(op::minimum, {b.emit(op::add, {from, length}), all.high})};
  };
  ir::value place = bind_batch(outer, sizes, each);
  if (nested) {
    several = part_of(several, b.emit(op::quotient, {place, of_walk}), steps);
    place = b.emit(op::remainder, {place, of_walk});
  }
  const range part = part_of({low, end}, place, size);
  const ir::value more = b.emit(op::less, {zero, b.counter()}), last = b.emit(op::equal, {b.counter(), before_last});
  const walked_block w{c, part, around, several, panels, sums, more, last};
  pack(w, each);
  rows_of_block(w, rows, each);
  each.close();
  lane.close();
}

}  // namespace sheaf::inline v0_1::lower
