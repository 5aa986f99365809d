// A list that is sorted on a GPU as sort.cpp sees it: what it walks and where its array has what. Private header.
#pragma once
#include <functional>

#include <sheaf/jit/lower/lowering.hpp>

namespace sheaf::lower {

// What is done in the turn of one that is listed, with its key.
using turn_body = std::function<void(scope&, ir::value)>;

struct list_to_sort {
  std::int32_t array;
  // Runs the body for all that turns of the outermost index list, in order.
  std::function<void(scope&, const range& turns, const turn_body& body)> walk = {};
  std::function<ir::value(scope&, std::size_t plane)> index = {};  // in such a turn
  // Of place n, in the array.
  std::function<ir::value(ir::block_builder&, std::size_t plane, ir::value n)> place = {};
  // The array has, from `ends` on, `count` numbers: how many places are of keys less than `least`, `least` + 1, ...; the last one
  // is how many are listed, even if there is no room for them.
  ir::value ends = ir::none, count = ir::none;
  std::int64_t least = 0;
  // Of lists of slices: one past the last chunk that a slice reaches. The array begins with the first place that reaches
  // each chunk.
  std::function<ir::value(scope&, ir::value n)> reach = {};
};

}  // namespace sheaf::lower
