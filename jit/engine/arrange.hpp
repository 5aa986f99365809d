// Pass `arrange`: the dimension of an input along which its elements lie closest becomes its last, in the program as in the
// views of a call. So the planner, which looks for runs of memory along last dimensions, sees transposed views as what
// they are. Nodes keep their ids. Shown by tests/jit/arrange.cpp. Private header.
#pragma once
#include <vector>

#include <sheaf/runtime/sheaf_call.h>
#include <sheaf/dsl/graph/graph.hpp>

namespace sheaf::jit {

// Of the dimensions with more than one element the one with the least stride, the last of equals; rank - 1 where there is none.
int closest_dimension(const sheaf_tensor& t, int rank);

// Orders by input: position d of the new subscripts takes dimension order[d] of the old.
using dimension_order = std::vector<int>;
dimension_order with_last(int rank, int dimension);
bool is_as_given(const dimension_order& order);
dimension_order inverse(const dimension_order& order);

// The program with its inputs' dimensions in these orders.
graph arranged(const graph& g, const std::vector<dimension_order>& orders);

}  // namespace sheaf::jit
