// exp(a - c): the terms of a logsumexp or softmax, and what they are relative to. The surface makes them here;
// gradients and the planner ask here which they are. Shown by tests/static/powers.cpp.
#pragma once
#include <sheaf/dsl/graph/make.hpp>

namespace sheaf::inline v0_1 {

struct power {
  node_id value = no_node, centre = no_node;  // exp(value - centre); none: it is no power
};

constexpr power power_of(const graph& g, node_id e) {
  if (g.kind(e) != op::exp || g.kind(g.arg(e, 0)) != op::sub) return {};
  return {g.arg(g.arg(e, 0), 0), g.arg(g.arg(e, 0), 1)};
}

// What terms are relative to: their maximum, and 0 where that is infinite.
constexpr node_id centre_about(graph& g, node_id maximum) {
  const node_id infinite = make(g, op::equal, make(g, op::abs, maximum), number_like(g, maximum, math::infinity));
  return make(g, op::select, infinite, number_like(g, maximum, 0), maximum);
}

// The maximum that such a centre is about, also as where(isfinite(m), m, 0) has it; else the centre itself. same(a, b):
// are two expressions worth the same?
template <class Same>
constexpr node_id maximum_of_centre(const graph& g, node_id centre, Same same) {
  while (g.kind(centre) == op::stop_gradient) centre = g.arg(centre, 0);
  if (g.kind(centre) != op::select) return centre;
  const node_id asks = g.arg(centre, 0);
  const bool infinite = g.kind(asks) == op::equal, finite = g.kind(asks) == op::less;
  if ((!infinite && !finite) || !is_number(g, g.arg(centre, infinite ? 1 : 2), 0)) return centre;
  const node_id maximum = g.arg(centre, infinite ? 2 : 1);
  for (int k = 0; k < (infinite ? 2 : 1); ++k) {
    const node_id size = g.arg(asks, k);
    if (g.kind(size) == op::abs && same(g.arg(size, 0), maximum) && is_number(g, g.arg(asks, 1 - k), math::infinity))
      return maximum;
  }
  return centre;
}

}  // namespace sheaf::inline v0_1
