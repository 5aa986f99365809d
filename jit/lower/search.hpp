// A search among ends that never fall: of slices, of a list's rows. Private header.
#pragma once
#include <sheaf/jit/lower/lowering.hpp>

namespace sheaf::inline v0_1::lower {

// Of [from, to) the first whose end is after the place: one half is left. end(scope, n), of one that may be past all.
template <class End>
void step_of_search(scope& iteration, ir::value from, ir::value to, ir::value place, End&& end) {
  ir::block_builder& b = *iteration.block;
  const auto sum = [&](ir::value x, ir::value y) { return b.emit(op::add, {x, y}); };
  const auto gap = [&](ir::value x, ir::value y) { return b.emit(op::sub, {x, y}); };
  const ir::value one = b.i64(1), low = b.read(from), high = b.read(to), open = b.emit(op::less, {low, high});
  const ir::value middle = b.emit(op::quotient, {sum(low, high), b.i64(2)});
  const ir::value found = end(iteration, middle), before = b.emit(op::less_equal, {found, place});
  const ir::value zero = b.i64(0), up = gap(sum(middle, one), low), down = gap(middle, high);
  const ir::value rises = b.emit(op::logical_and, {open, before});
  const ir::value falls = b.emit(op::logical_and, {open, b.emit(op::logical_not, {before})});
  b.combine(from, b.emit(op::select, {rises, up, zero}));
  b.combine(to, b.emit(op::select, {falls, down, zero}));
}

// As many as halve a number of ends, and up to three more.
inline ir::value steps_of_search(ir::block_builder& b, ir::value count) {
  ir::value steps = b.i64(4);
  for (int bits = 4; bits < 48; bits += 4) {
    const ir::value more = b.emit(op::less_equal, {b.i64(std::int64_t{1} << bits), count});
    steps = b.emit(op::add, {steps, b.emit(op::select, {more, b.i64(4), b.i64(0)})});
  }
  return steps;
}

// Of `count`; count itself where none ends after the place.
template <class End>
ir::value first_that_ends_after(scope& at, ir::value place, ir::value count, End&& end) {
  ir::block_builder& b = *at.block;
  const ir::value from = b.accumulator(element::i64, monoid::sum, false);
  const ir::value to = b.accumulator(element::i64, monoid::sum, false);
  b.combine(to, count);
  scope iteration(at, b.loop(ir::loop_kind::serial, "halving", b.i64(0), steps_of_search(b, count)));
  step_of_search(iteration, from, to, place, end);
  iteration.close();
  return b.read(from);
}

}  // namespace sheaf::inline v0_1::lower
