// A running range that begins or ends some places from its result's. Shown by tests/jit/scan.cpp.
#pragma once
#include <sheaf/dsl/graph/affine.hpp>
#include <sheaf/jit/plan/rewrite.hpp>

namespace sheaf::inline v0_1::plan {

// Of a range that ends at t + c, wherever t begins: the result at p = t + c - 1, of a range that ends there.
struct moved_range {
  node_id t = no_node, p = no_node;
  std::int64_t by = 0;  // p - t
  node_id inside = no_node;
  bool vouched = false;  // p is nowhere where no t comes to
};

inline moved_range moved_of(graph& g, node_id n) {
  const node_id u = bound_indices(g, n)[0];
  for (const node_id t : indices_of(g, g.free[u])) {
    if (t == u || is_unbound(g, t) || !g.free[g.arg(t, 0)].empty() || !g.free[g.arg(t, 1)].empty()) continue;
    for (const bool backward : {false, true}) {
      const line end = split_affine(g, g.arg(u, backward ? 0 : 1), t);
      const node_id fixed = g.arg(u, backward ? 1 : 0);
      if (!end.affine || end.slope != 1 || !is_constant(g, end.rest) || !g.free[fixed].empty()) continue;
      moved_range m;
      m.t = t;
      m.by = g[end.rest].attribute - (backward ? 0 : 1);
      const node_id first = make(g, op::add, g.arg(t, 0), integer(g, m.by));
      const node_id last = make(g, op::add, g.arg(t, 1), integer(g, m.by)),
                    here = make(g, op::add, t, integer(g, m.by));
      if (m.by == 0 && known_equal(g, backward ? last : first, fixed)) continue;  // it is that range
      m.p = backward ? fresh_index(g, t, first, fixed) : fresh_index(g, t, fixed, last);
      m.inside = backward ? make(g, op::less, here, fixed) : make(g, op::less_equal, fixed, here);
      m.vouched = backward ? known_less_equal(g, fixed, last) : known_less_equal(g, first, fixed);
      return m;
    }
  }
  return {};
}

}  // namespace sheaf::inline v0_1::plan
