#include <sheaf/jit/plan/definition_reads.hpp>

#include <algorithm>

#include <sheaf/jit/plan/walks.hpp>

namespace sheaf::inline v0_1::plan {

bool read_by_data(const graph& g, const std::vector<node_id>& uses) {
  for (const node_id n : uses)
    for (int k = 1; k < g[n].count; ++k)
      if (holds(g, g.arg(n, k), op::load)) return true;
  return false;
}

bool read_by_windows(const graph& g, const facts& known, node_id define, const std::vector<node_id>& uses) {
  const auto moves = [&](node_id end) { return !g.free[end].empty() && is_formula(g, end); };
  const amount values = known.trips(set_of(g, arguments(g, define, 1)));
  for (const node_id n : uses) {
    index_set around = g.free[n];
    bool window = false;
    for (int k = 1; k < g[n].count; ++k) {
      const node_id at = g.arg(n, k);
      if (indices_of(g, g.free[at]).size() > 1) return true;
      if (g.kind(at) != op::index || !moves(g.arg(at, 0)) || !moves(g.arg(at, 1))) continue;
      window = true;
      around |= g.free[g.arg(at, 0)];
      around |= g.free[g.arg(at, 1)];
    }
    if (window && known.trips(around) >= 2 * values) return true;
  }
  return false;
}

bool read_at_digits(const graph& g, const facts& known, node_id define, const std::vector<node_id>& uses) {
  const amount values = known.trips(set_of(g, arguments(g, define, 1)));
  return std::ranges::any_of(uses, [&](node_id n) {
    bool digit = false;
    for (int k = 1; k < g[n].count; ++k)
      digit = digit || holds(g, g.arg(n, k), op::quotient) || holds(g, g.arg(n, k), op::remainder);
    return digit && known.trips(g.free[n]) >= 2 * values;
  });
}

bool read_in_slices(const graph& g, const std::vector<node_id>& uses) {
  bool any = false;
  for (const node_id n : uses) {
    const std::vector<node_id> at = arguments(g, n, 1);
    if (!std::ranges::all_of(at, [&](node_id e) { return g.kind(e) == op::index; })) return false;
    const auto is_end = [&](node_id end, node_id idx) {
      const auto decides = [&](node_id e) { return e != idx && g.free[end].has(g.ordinal(e)); };
      return holds(g, end, op::load) && std::ranges::any_of(at, decides);
    };
    for (const node_id idx : at) {
      const bool low = is_end(g.arg(idx, 0), idx), high = is_end(g.arg(idx, 1), idx);
      if (low != high) return false;
      any = any || low;
    }
  }
  return any;
}

}  // namespace sheaf::inline v0_1::plan
