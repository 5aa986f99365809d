// What lowers tiles of rows: tiles.cpp folds them, rows_of_tiles.cpp stores values of rows. Private header.
#pragma once
#include <sheaf/jit/lower/lowering.hpp>
#include <sheaf/jit/plan/algorithms/segmented_tiles/tiles.hpp>

namespace sheaf::inline v0_1::lower {

// A value of each row that a tile keeps from the fold, which has it as `of_fold`, for what is stored of rows after it.
struct kept_row {
  node_id of_fold, of_rows;
  std::int32_t buffer;
};

struct tiles_lowering {
  kernel_lowering& k;
  const stage& s;
  const plan::tile_form& f;
  scope& top;
  std::int32_t firsts, parts;
  monoid fold;
  ir::value slices, tiles;
  std::vector<tiles_lowering> readers = {};  // of a fold: stages in its kernel whose rows need what it comes to
  std::vector<kept_row> kept = {};           // of such rows
  bool numbered = false;                     // the fold has left the number of each row's slice

  static ir::value sum(ir::block_builder& b, ir::value x, ir::value y) { return b.emit(op::add, {x, y}); }
  static ir::value gap(ir::block_builder& b, ir::value x, ir::value y) { return b.emit(op::sub, {x, y}); }
  static ir::value clamped(ir::block_builder& b, ir::value x, const range& r) {
    return b.emit(op::minimum, {b.emit(op::maximum, {x, r.low}), r.high});
  }
  ir::value first_of(ir::block_builder& b, ir::value tile) const { return b.load(firsts, element::i64, {tile}); }
  // Those that end in a tile, the first of which may have begun before it.
  range slices_of(ir::block_builder& b, ir::value tile) const {
    return {first_of(b, tile), first_of(b, sum(b, tile, b.i64(1)))};
  }
  element joined() const { return k.buffer(parts).type; }
  std::int32_t local(const char* name, element type) const {
    return ir::add_local(k.code, name, type, f.size);
  }
  // body(task, its number), unless there is no slice.
  template <class Body>
  void each_task(ir::value count, Body&& body) {
    ir::block_builder& b = *top.block;
    const ir::value zero = b.i64(0), some = b.emit(op::less, {zero, slices});
    scope task(top, b.loop(ir::loop_kind::parallel, "tile", zero, b.emit(op::select, {some, count, zero})));
    body(task, task.block->counter());
    task.close();
  }
  range rows_of(scope& at, ir::value tile) const {
    ir::block_builder& b = *at.block;
    const ir::value size = b.i64(f.size), low = b.emit(op::mul, {tile, size});
    const ir::value all = k.emit(k.g.arg(f.walk, 1), at);
    return {low, b.emit(op::minimum, {sum(b, low, size), all})};
  }
  range bounds(scope& at) const {
    const ir::value low = k.emit(f.low, at);
    return {low, k.emit(f.high, at)};
  }
  // The last row of a slice that ends in the tile. Where offsets break their promise, which another kernel may find
  // later, it is in the tile all the same.
  ir::value last_row(ir::block_builder& b, const range& r, const range& own) const {
    return clamped(b, gap(b, gap(b, r.high, b.i64(1)), own.low), {b.i64(0), b.i64(f.size - 1)});
  }
  // Of the slice, or of the last one.
  range bounds_at(scope& at, ir::value slice) const {
    scope of_slice(at, at.block);
    const ir::value last = gap(*at.block, slices, at.block->i64(1));
    of_slice.bind_to(k.g, f.slice, at.block->emit(op::minimum, {slice, last}));
    return bounds(of_slice);
  }
  static ir::value some_of(ir::block_builder& b, const range& r) { return b.emit(op::less, {r.low, r.high}); }
  // The stage's value, where the reduction is x.
  void store(scope& at, ir::value x, ir::value mask) {
    const element type = k.g.type(f.reduce);
    at.set(f.reduce, at.block->type_of(x) == type ? x : at.block->cast(type, x));
    k.store(s, k.emit(s.body, at), at, mask);
  }

  // Does a row say which slice it is of? Else only where slices begin.
  bool numbers() const { return f.reduce == no_node || f.mine != no_node || !readers.empty(); }

  void find();
  void fold_tiles();
  void fold_tile(scope& task, ir::value tile, const range& own, const range& which, std::int32_t heads,
                 std::int32_t folded);
  void mark_begins(scope& task, const range& own, const range& which, std::int32_t heads);
  ir::value fold_rows(scope& task, const range& own, ir::value first, std::int32_t heads, std::int32_t folded);
  ir::value number_rows(ir::block_builder& b, ir::value head, ir::value running, ir::value most) const;
  ir::value most_numbers(ir::block_builder& b, ir::value first) const;
  void bind_slice(scope& row, ir::value number, ir::value first) const;
  void store_ends(scope& task, const range& own, const range& which, std::int32_t folded);
  void store_parts(scope& task, ir::value tile, const range& own, const range& which, ir::value rest,
                   std::int32_t folded);
  void join();

  // rows_of_tiles.cpp
  template <class Body>
  void each_tile(const std::vector<tiles_lowering*>& stages, Body&& body);
  void store_rows();
  void fold_and_store_rows();
  void store_rows_after_join();
  void keep_rows();
  void rows_of_slice(scope& task, ir::value slice, const range& of_slice);
  void values_of_rows(scope& task, const range& own, ir::value first, std::int32_t heads);
  range rows_of_slices(scope& task, const range& all) const;
  void rest_of_rows(scope& task, const range& all, const range& own);
  void fold_columns();
  void slice_of_columns(scope& slice, ir::value tile, const range& own, ir::value next);
  void join_columns(scope& crosses, ir::value tile, ir::value from);
};

}  // namespace sheaf::inline v0_1::lower
