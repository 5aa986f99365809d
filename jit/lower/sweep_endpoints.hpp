// The array of a sweep's endpoints (see `sweep_form`): made by sweep_endpoints.cpp, walked by sweep.cpp.
#pragma once
#include <sheaf/jit/lower/lowering.hpp>

namespace sheaf::inline v0_1::lower {

enum : std::int64_t { begins = 0, ends = 1 };  // rows of the array

// The array of endpoints: positions by row, then slices, then the positions of slices.
struct endpoint_lists {
  kernel_lowering& k;
  const plan::sweep_form& f;
  std::int32_t array;
  ir::value rows, first, count;  // of rows; the first slice, and how many

  ir::value at(ir::block_builder& b, ir::value which, ir::value place) const {
    return b.load(array, element::i64, {which, place});
  }
  void put(ir::block_builder& b, ir::value which, ir::value place, ir::value x) const {
    b.store(array, {which, place}, x);
  }
  ir::value place_of(ir::block_builder& b, ir::value position) const {
    const ir::value slices = b.emit(op::add, {rows, b.i64(2)});
    return b.emit(op::add, {slices, position});
  }
  ir::value place_of_slice(ir::block_builder& b, ir::value slice) const {
    return b.emit(op::add, {place_of(b, count), b.emit(op::sub, {slice, first})});
  }
};

inline endpoint_lists lists_of(kernel_lowering& k, const plan::sweep_form& f, std::int32_t array, scope& s) {
  graph& g = k.g;
  const ir::value rows = k.emit(g.arg(f.rows, 1), s), zero = s.block->i64(0);
  const ir::value low = k.emit(g.arg(f.slice, 0), s), high = k.emit(g.arg(f.slice, 1), s);
  return {k, f, array, rows, low, s.block->emit(op::maximum, {s.block->emit(op::sub, {high, low}), zero})};
}

}  // namespace sheaf::inline v0_1::lower
