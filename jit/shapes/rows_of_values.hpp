// Rows that no input has: those of values that a program computes, as of the scores of a few classes, whose number is
// that of rows of a matrix of weights. Shown by tests/jit/shapes.cpp.
#pragma once
#include <sheaf/dsl/graph/graph.hpp>
#include <sheaf/jit/shapes/joined_extents.hpp>

namespace sheaf::inline v0_1::shapes {

// Along which size the first of such rows lie that outputs are made of; -1: there are none. They are the last dimension
// of a definition that folds, or what is walked to fold them to a number for each of some results.
int rows_of_values(const graph& g, const joined_extents& same);

}  // namespace sheaf::inline v0_1::shapes
