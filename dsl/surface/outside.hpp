// Where a subscript goes that may lie outside of its dimension. Shown by tests/numeric/access.cpp.
#pragma once
#include <sheaf/dsl/graph/make.hpp>

namespace sheaf::inline v0_1 {

enum class outside : std::uint8_t {
  to_the_edge,     // the nearest element: maximum(minimum(s, n - 1), 0)
  around,          // modulo the extent: PyTorch's "circular"
  back_and_forth,  // mirrored with period 2 (n - 1), the edges once each: PyTorch's "reflect"; of one element, that one
};

namespace detail {

// Subscript s of a dimension of n elements, moved inside; it is inside for n > 0.
constexpr node_id moved_inside(graph& g, outside rule, node_id s, node_id n) {
  if (rule == outside::around) return make(g, op::remainder, s, n);
  const node_id last = make(g, op::sub, n, integer(g, 1));
  if (rule == outside::to_the_edge) return make(g, op::maximum, make(g, op::minimum, s, last), integer(g, 0));
  const node_id period = make(g, op::mul, integer(g, 2), last);
  const node_id r = make(g, op::remainder, s, make(g, op::maximum, period, integer(g, 1)));
  return make(g, op::minimum, r, make(g, op::sub, period, r));
}

}  // namespace detail

}  // namespace sheaf::inline v0_1
