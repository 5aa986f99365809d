// The conditions without any of which a term is exactly 0, so that a sum needs it only where all of them hold: those of
// select(c, a, 0), and what both arms of an addition have alike. Products are not asked: 0 times infinity is NaN.
// Shown by tests/jit/ragged.cpp.
#pragma once
#include <algorithm>
#include <vector>

#include <sheaf/jit/plan/rewrite.hpp>

namespace sheaf::inline v0_1::plan {

inline std::vector<node_id> needed_by(const graph& g, node_id term, int depth = 0) {
  constexpr int deep = 16;  // arms of additions may be shared
  std::vector<node_id> all;
  if (depth == deep) return all;
  switch (g.kind(term)) {
    case op::select: {
      if (!is_number(g, g.arg(term, 2), 0)) return all;
      all = needed_by(g, g.arg(term, 1), depth + 1);
      flat<node_id> list;
      deltas::conjuncts(g, g.arg(term, 0), list);
      all.insert(all.end(), list.begin(), list.end());
      return all;
    }
    case op::neg:
    case op::cast: return needed_by(g, g.arg(term, 0), depth + 1);
    case op::add:
    case op::sub: {
      all = needed_by(g, g.arg(term, 0), depth + 1);
      if (all.empty() || g.arg(term, 0) == g.arg(term, 1)) return all;
      const std::vector<node_id> other = needed_by(g, g.arg(term, 1), depth + 1);
      std::erase_if(all, [&](node_id c) { return std::ranges::find(other, c) == other.end(); });
      return all;
    }
    default: return all;
  }
}

}  // namespace sheaf::inline v0_1::plan
