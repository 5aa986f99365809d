// A list that is sorted on a GPU as sort.cpp sees it: what it walks and where its array has what; and the digits of
// keys. Private header.
#pragma once
#include <functional>

#include <sheaf/jit/lower/lowering.hpp>

namespace sheaf::inline v0_1::lower {

// What is done in the turn of one that is listed, with its key.
using turn_body = std::function<void(scope&, ir::value)>;

struct list_to_sort {
  std::int32_t array;
  // Runs the body for all that turns of the outermost index list, in order.
  std::function<void(scope&, const range& turns, const turn_body& body)> walk = {};
  std::function<ir::value(scope&, std::size_t plane)> index = {};  // in such a turn
  // Of place n, in the array.
  std::function<ir::value(ir::block_builder&, std::size_t plane, ir::value n)> place = {};
  // Of lists of slices: one past the last chunk that the turn's slice reaches.
  std::function<ir::value(scope&)> reach = {};
};

// Part `tile` of a range, in parts of `size`.
range part_of(ir::block_builder& b, ir::value tile, std::int64_t size, ir::value first, ir::value end);
// How many there are to sort: none, if there is no room for all.
ir::value listed_of(ir::block_builder& b, std::int32_t memory, ir::value room);

ir::value last_digit(ir::block_builder& b, ir::value key);
// top: the weight of the first digit, to where the last one moves.
ir::value moved_digit(ir::block_builder& b, ir::value key, ir::value top);

// What a tile has of each digit: first how many, then where the next one goes.
std::int32_t counters(ir::module& m);
void clear_digits(ir::block_builder& b, std::int32_t own);
void count_digit(ir::block_builder& b, std::int32_t own, ir::value digit);
ir::value next_place(ir::block_builder& b, std::int32_t own, ir::value digit);
void store_digits(ir::block_builder& b, std::int32_t own, std::int32_t memory, ir::value counts, ir::value tile,
                  ir::value tiles);
struct counts_place {
  ir::value counts, sums;
};
void load_digits(ir::block_builder& b, std::int32_t own, std::int32_t memory, const counts_place& at, ir::value tile,
                 ir::value tiles);

}  // namespace sheaf::inline v0_1::lower
