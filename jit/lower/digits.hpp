// The digits of keys that a list is sorted by, and how many of each a tile has. Private header, of sort.cpp and
// sort_kernels.cpp.
#pragma once
#include <sheaf/jit/lower/lowering.hpp>

namespace sheaf::inline v0_1::lower {

inline ir::value sum(ir::block_builder& b, ir::value x, ir::value y) { return b.emit(op::add, {x, y}); }

// Numbers of a list or of its sort, of 32 bits where they all fit, which computations see in 64.
struct index_memory {
  std::int32_t buffer;
  element type;
  ir::value load(ir::block_builder& b, ir::value place, ir::access how = ir::access::uniform,
                 ir::value mask = ir::none) const {
    const ir::value x = b.load(buffer, type, {place}, how, mask);
    return type == element::i64 ? x : b.cast(element::i64, x);
  }
  void store(ir::block_builder& b, ir::value place, ir::value x, ir::access how = ir::access::uniform,
             ir::value mask = ir::none) const {
    b.store(buffer, {place}, b.type_of(x) == type ? x : b.cast(type, x), how, mask);
  }
};
inline index_memory indices_in(const ir::module& m, std::int32_t buffer) {
  return {buffer, m.buffers[static_cast<std::size_t>(buffer)].type};
}

// The same memory, as of another type of as many bytes.
inline std::int32_t held_as(ir::module& m, std::int32_t buffer, element type) {
  ir::buffer same = m.buffers[static_cast<std::size_t>(buffer)];
  if (same.type == type) return buffer;
  for (std::size_t b = 0; b < m.buffers.size(); ++b)
    if (m.buffers[b].where == same.where && m.buffers[b].slot == same.slot && m.buffers[b].type == type)
      return static_cast<std::int32_t>(b);
  same.type = type;
  return ir::add_buffer(m, std::move(same));
}

// Part `tile` of a range, in parts of `size`.
range part_of(ir::block_builder& b, ir::value tile, ir::value size, ir::value first, ir::value end);
// How many there are to sort: none, if there is no room for all.
ir::value listed_of(ir::block_builder& b, const index_memory& memory, ir::value room);

ir::value last_digit(ir::block_builder& b, ir::value key, int bits);
// top: the weight of the first digit, to where the last one moves.
ir::value moved_digit(ir::block_builder& b, ir::value key, int bits, ir::value top);

// What a tile has of each digit: first how many, then where the next one goes. Digits are vectors, one a lane, and
// those whose mask is false are none.
struct digit_counters {
  std::int32_t buffer;
  int bits;  // of a digit
};
digit_counters counters(ir::module& m, int bits);
void clear_digits(ir::block_builder& b, const digit_counters& own);
void count_digits(ir::block_builder& b, const digit_counters& own, ir::value digit, ir::value mask);
ir::value next_places(ir::block_builder& b, const digit_counters& own, ir::value digit, ir::value mask);
// The table of all tiles' counters in `memory`, digit by digit, and a tile of those; sums: what each group of entries
// stands behind.
struct counts_table {
  index_memory memory;
  ir::value counts, tile, tiles, sums = ir::none;
};
void store_digits(ir::block_builder& b, const digit_counters& own, const counts_table& t);
void load_digits(ir::block_builder& b, const digit_counters& own, const counts_table& t);

}  // namespace sheaf::inline v0_1::lower
