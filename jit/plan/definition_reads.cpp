#include <sheaf/jit/plan/definition_reads.hpp>

#include <algorithm>

#include <sheaf/jit/plan/rewrite.hpp>
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

namespace {

// Does a loop around the read go over more than its subscripts? Then its value would be computed again in each round.
bool is_read_again(const graph& g, const std::vector<stage>& stages, node_id use, const index_set& at) {
  return std::ranges::any_of(stages, [&](const stage& s) {
    const std::vector<node_id> all = reductions_in(g, s.body);
    return std::ranges::any_of(all, [&](node_id n) {
      return !set_of(g, bound_indices(g, n)).within(at) && any_node(g, n, [&](node_id e) { return e == use; });
    });
  });
}

// Are its places those of a tensor that it reads at the index alone? Then that one's check says what its own would.
bool has_places_of_tensor(graph& g, node_id define, node_id idx) {
  if (!is_number(g, g.arg(idx, 0), 0)) return false;
  return any_node(g, g.arg(define, 0), [&](node_id n) {
    if (g.kind(n) != op::load) return false;
    for (int d = 0; d + 1 < g[n].count; ++d)
      if (g.arg(n, 1 + d) == idx && known_equal(g, extent(g, g.arg(n, 0), d), g.arg(idx, 1))) return true;
    return false;
  });
}

// Terms that are slow are summed once for all that a slice's results have of them.
bool folds_functions(const graph& g, node_id define) {
  return std::ranges::any_of(reductions_in(g, g.arg(define, 0)), [&](node_id n) {
    return any_node(g, g.arg(n, 0), [&](node_id e) { return is_function(g, e); });
  });
}

}  // namespace

bool read_in_slices(graph& g, const std::vector<stage>& stages, node_id define, const std::vector<node_id>& uses) {
  bool any = false;
  for (const node_id n : uses) {
    const std::vector<node_id> at = arguments(g, n, 1);
    if (!std::ranges::all_of(at, [&](node_id e) { return g.kind(e) == op::index; })) return false;
    const auto is_end = [&](node_id end, node_id idx) {
      const auto decides = [&](node_id e) { return e != idx && g.free[end].has(g.ordinal(e)); };
      return holds(g, end, op::load) && std::ranges::any_of(at, decides);
    };
    for (std::size_t k = 0; k < at.size(); ++k) {
      const node_id idx = at[k];
      const bool low = is_end(g.arg(idx, 0), idx), high = is_end(g.arg(idx, 1), idx);
      const node_id place = g.arg(define, 1 + static_cast<int>(k));
      if (low != high || (low && !has_places_of_tensor(g, define, place))) return false;
      any = any || low;
    }
  }
  return any && !folds_functions(g, define) && std::ranges::none_of(uses, [&](node_id n) {
    return is_read_again(g, stages, n, set_of(g, arguments(g, n, 1)));
  });
}

}  // namespace sheaf::inline v0_1::plan
