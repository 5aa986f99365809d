#include <sheaf/jit/lower/digits.hpp>

#include <algorithm>

#include <sheaf/jit/plan/algorithms/sort/sort.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::lower {

namespace {

template <class Body>
void each_digit(ir::block_builder& b, const digit_counters& own, Body&& body) {
  const std::int32_t digits = 1 << own.bits, lanes = std::min(digits, plan::tile_lanes);
  ir::block_builder d = b.loop(ir::loop_kind::vector, "digit", b.i64(0), b.i64(digits), lanes);
  body(d, d.lanes());
  d.close();
}
ir::value entry_of(ir::block_builder& b, ir::value digit, const counts_table& t) {
  return sum(b, b.emit(op::mul, {digit, t.tiles}), t.tile);
}

}  // namespace

range part_of(ir::block_builder& b, ir::value tile, ir::value size, ir::value first, ir::value end) {
  const ir::value low = sum(b, first, b.emit(op::mul, {tile, size}));
  return {low, b.emit(op::minimum, {sum(b, low, size), end})};
}
ir::value listed_of(ir::block_builder& b, const index_memory& memory, ir::value room) {
  const ir::value all = memory.load(b, b.i64(1));
  return b.emit(op::select, {b.emit(op::less_equal, {all, room}), all, b.i64(0)});
}

// Keys are not negative.
ir::value last_digit(ir::block_builder& b, ir::value key, int bits) {
  return b.emit(op::bit_and, {key, b.i64((std::int64_t{1} << bits) - 1)});
}
ir::value moved_digit(ir::block_builder& b, ir::value key, int bits, ir::value top) {
  const ir::value rest = b.emit(op::shift_right, {key, b.i64(bits)});
  return sum(b, rest, b.emit(op::mul, {last_digit(b, key, bits), top}));
}

digit_counters counters(ir::module& m, int bits) {
  return {ir::add_local(m, "digits", element::i32, std::int64_t{1} << bits), bits};
}
void clear_digits(ir::block_builder& b, const digit_counters& own) {
  each_digit(b, own, [&](ir::block_builder& d, ir::value) {
    d.store(own.buffer, {d.counter()}, d.constant(element::i32, 0), ir::access::contiguous);
  });
}
ir::value next_places(ir::block_builder& b, const digit_counters& own, ir::value digit, ir::value mask) {
  return b.cast(element::i64, b.next_places(own.buffer, digit, mask));
}
void count_digits(ir::block_builder& b, const digit_counters& own, ir::value digit, ir::value mask) {
  b.add_to(own.buffer, {digit}, b.constant(element::i32, 1), ir::access::gather, mask);
}
void store_digits(ir::block_builder& b, const digit_counters& own, const counts_table& t) {
  each_digit(b, own, [&](ir::block_builder& d, ir::value digit) {
    const ir::value seen = d.load(own.buffer, element::i32, {d.counter()}, ir::access::contiguous);
    t.memory.store(d, sum(d, t.counts, entry_of(d, digit, t)), d.cast(element::i64, seen));
  });
}
void load_digits(ir::block_builder& b, const digit_counters& own, const counts_table& t) {
  each_digit(b, own, [&](ir::block_builder& d, ir::value digit) {
    const ir::value entry = entry_of(d, digit, t);
    const ir::value group = d.emit(op::quotient, {entry, d.i64(plan::counts_at_once)});
    const ir::value in_group = t.memory.load(d, sum(d, t.counts, entry));
    const ir::value before = t.memory.load(d, sum(d, t.sums, group));
    d.store(own.buffer, {d.counter()}, d.cast(element::i32, sum(d, in_group, before)), ir::access::contiguous);
  });
}

}  // namespace sheaf::inline v0_1::lower
