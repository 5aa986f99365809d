// A list that is sorted on a GPU as sort.cpp sees it: what it walks and where its array has what.
// Private header.
#pragma once
#include <functional>

#include <sheaf/jit/lower/lowering.hpp>

namespace sheaf::inline v0_1::lower {

// What is done in lanes of those that are listed, with their keys and which of the lanes are.
using lanes_body = std::function<void(scope&, ir::value key, ir::value listed)>;

struct list_to_sort {
  std::int32_t array;
  // Runs the body for all that iterations of the outermost index list, in order; the innermost index runs in lanes.
  std::function<void(scope&, const range& iterations, const lanes_body& body)> walk = {};
  std::function<ir::value(scope&, std::size_t plane)> index = {};  // in such lanes
  // Of place n, in the array.
  std::function<ir::value(ir::block_builder&, std::size_t plane, ir::value n)> place = {};
  // Of lists of slices: one past the last chunk that the iteration's slice reaches.
  std::function<ir::value(scope&)> reach = {};
};

// Lanes of an index that is walked, of so many iterations.
int lanes_of_walk(const plan::facts& known, const shapes::amount& iterations);
// A vector, whatever the lanes.
ir::value in_lanes(ir::block_builder& b, ir::value x);

}  // namespace sheaf::inline v0_1::lower
