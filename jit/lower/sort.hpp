// A list that is sorted on a GPU as sort.cpp sees it: what it walks and where its array has what.
// Private header.
#pragma once
#include <functional>

#include <sheaf/jit/lower/lowering.hpp>

namespace sheaf::inline v0_1::lower {

// What is done in the iteration of one that is listed, with its key.
using iteration_body = std::function<void(scope&, ir::value)>;

struct list_to_sort {
  std::int32_t array;
  // Runs the body for all that iterations of the outermost index list, in order.
  std::function<void(scope&, const range& iterations, const iteration_body& body)> walk = {};
  std::function<ir::value(scope&, std::size_t plane)> index = {};  // in such an iteration
  // Of place n, in the array.
  std::function<ir::value(ir::block_builder&, std::size_t plane, ir::value n)> place = {};
  // Of lists of slices: one past the last chunk that the iteration's slice reaches.
  std::function<ir::value(scope&)> reach = {};
};

}  // namespace sheaf::inline v0_1::lower
