// Walks over expressions, and what planning asks of them: who is inside, what they depend on, over which ranges.
// Definitions are closed, so no walk goes into one through a load.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include <sheaf/dsl/passes/reduce.hpp>
#include <sheaf/jit/numerics/numerics.hpp>
#include <sheaf/jit/plan/bounds.hpp>

namespace sheaf::inline v0_1::plan {

// Which nodes of an expression were met: a bit each, as arguments have lower numbers than what they are arguments of.
class nodes_met {
 public:
  explicit nodes_met(node_id root) {
    const auto words = static_cast<std::size_t>(root) / bits + 1;
    if (words > few_.size()) many_.resize(words);
    words_ = words > few_.size() ? many_.data() : few_.data();
    std::fill_n(words_, words, std::uint64_t{0});
  }
  nodes_met(const nodes_met&) = delete;
  nodes_met& operator=(const nodes_met&) = delete;
  // Was it not met before?
  bool insert(node_id n) {
    const auto place = static_cast<std::size_t>(n);
    std::uint64_t& word = words_[place / bits];
    const std::uint64_t bit = std::uint64_t{1} << place % bits;
    if ((word & bit) != 0) return false;
    word |= bit;
    return true;
  }

 private:
  static constexpr auto bits = static_cast<std::size_t>(std::numeric_limits<std::uint64_t>::digits);
  std::array<std::uint64_t, 64> few_;  // no allocation below 4096 nodes
  std::vector<std::uint64_t> many_;
  std::uint64_t* words_;
};

// Does the test hold of any node of an expression, or of all? Each is asked once, arguments first, until it is known;
// ranges of bound indices belong to it.
template <class Test>
bool any_node(const graph& g, node_id root, Test&& test) {
  nodes_met seen(root);
  const auto walk = [&](auto&& self, node_id n) -> bool {
    if (!seen.insert(n)) return false;
    for (int k = g.kind(n) == op::load ? 1 : 0; k < g[n].count; ++k)
      if (g.kind(n) != op::extent && self(self, g.arg(n, k))) return true;
    return test(n);
  };
  return walk(walk, root);
}
template <class Test>
bool all_nodes(const graph& g, node_id root, Test&& test) {
  return !any_node(g, root, [&](node_id n) { return !test(n); });
}

template <class Visit>
void for_each_node(const graph& g, node_id root, Visit&& visit) {
  any_node(g, root, [&](node_id n) { return visit(n), false; });
}

inline bool holds(const graph& g, node_id root, op kind) {
  return any_node(g, root, [&](node_id n) { return g.kind(n) == kind; });
}

// Does an expression load from this tensor?
inline bool reads(const graph& g, node_id root, node_id tensor) {
  return any_node(g, root, [&](node_id n) { return g.kind(n) == op::load && g.arg(n, 0) == tensor; });
}

inline std::vector<node_id> nodes_in(const graph& g, node_id root, op kind) {
  std::vector<node_id> list;
  for_each_node(g, root, [&](node_id n) {
    if (g.kind(n) == kind) list.push_back(n);
  });
  return list;
}
// The reductions in an expression, those inside others first.
inline std::vector<node_id> reductions_in(const graph& g, node_id root) { return nodes_in(g, root, op::reduce); }
inline std::vector<node_id> loads_in(const graph& g, node_id root) { return nodes_in(g, root, op::load); }

// Does nothing in e read outside of its tensor, whatever the conditions around say?
inline bool is_safe(graph& g, node_id e) {
  return !holds(g, e, op::reduce) && std::ranges::all_of(loads_in(g, e), [&](node_id n) { return is_inside(g, n); });
}

// The loads whose values say which row `load` is of, by its subscripts from `first` on. Those of an index's range do
// not: its rows lie one after the other.
inline std::vector<node_id> index_operands(const graph& g, node_id load, int first = 0) {
  std::vector<node_id> names;
  nodes_met seen(load);
  const auto walk = [&](auto&& self, node_id n) -> void {
    if (g.kind(n) == op::index || g.kind(n) == op::extent || !seen.insert(n)) return;
    if (g.kind(n) == op::load) names.push_back(n);
    for (int k = g.kind(n) == op::load ? 1 : 0; k < g[n].count; ++k) self(self, g.arg(n, k));
  };
  for (int k = 1 + first; k < g[load].count; ++k) walk(walk, g.arg(load, k));
  return names;
}

// Does data say where a load goes in a dimension? Data that an index's range depends on counts here, too.
inline bool data_names(const graph& g, node_id load, int dimension) {
  return holds(g, g.arg(load, 1 + dimension), op::load);
}
// In its last one, so that each place is a line of its own? Those of a range lie beside each other.
inline bool data_names_last(const graph& g, node_id load) {
  return g[load].count > 1 && !index_operands(g, load, g[load].count - 2).empty();
}

// Does the expression depend on the index?
inline bool uses(const graph& g, node_id e, node_id idx) { return g.free[e].has(g.ordinal(idx)); }

// Does it name the index itself, not only by the range of another one that is free in it?
inline bool names(const graph& g, node_id e, node_id idx) {
  if (e == idx) return true;
  nodes_met seen(e);
  const auto walk = [&](auto&& self, node_id n) -> bool {
    if (n == idx) return true;
    const op kind = g.kind(n);
    if (kind == op::extent || kind == op::define || kind == op::index || !uses(g, n, idx)) return false;
    if (!seen.insert(n)) return false;
    for (int k = kind == op::load ? 1 : 0; k < g[n].count; ++k) {
      const node_id a = g.arg(n, k);
      const bool bound = kind == op::reduce && k > 1;
      if (bound ? self(self, g.arg(a, 0)) || self(self, g.arg(a, 1)) : self(self, a)) return true;
    }
    return false;
  };
  return walk(walk, e);
}

inline node_id without_cast(const graph& g, node_id n) { return g.kind(n) == op::cast ? g.arg(n, 0) : n; }

inline bool is_function(const graph& g, node_id n) {
  return is_elementwise(g.kind(n)) && row(g.kind(n)).cost == op_cost::function;
}

// The difference of which an expression is the square; no_node: it is none.
inline node_id squared_difference(const graph& g, node_id n) {
  const bool square = g.kind(n) == op::mul && g.arg(n, 0) == g.arg(n, 1) && g.kind(g.arg(n, 0)) == op::sub;
  return square ? g.arg(n, 0) : no_node;
}

// Do two indices run over the same values?
inline bool same_range(const graph& g, node_id a, node_id b) {
  return a == b || (known_equal(g, g.arg(a, 0), g.arg(b, 0)) && known_equal(g, g.arg(a, 1), g.arg(b, 1)));
}

// An elementwise expression with an op in it, outside of what it loads or reduces, that takes more than a few
// instructions.
inline bool is_slow(const graph& g, node_id n) {
  std::vector<node_id> open{n};
  nodes_met seen(n);
  while (!open.empty()) {
    const node_id e = open.back();
    open.pop_back();
    if (!is_elementwise(g.kind(e))) continue;
    if (row(g.kind(e)).cost != op_cost::few) return true;
    for (int k = 0; k < g[e].count; ++k)
      if (seen.insert(g.arg(e, k))) open.push_back(g.arg(e, k));
  }
  return false;
}

// What a node has from its k-th argument on.
inline std::vector<node_id> arguments(const graph& g, node_id n, int k) {
  std::vector<node_id> list;
  for (; k < g[n].count; ++k) list.push_back(g.arg(n, k));
  return list;
}
inline std::vector<node_id> bound_indices(const graph& g, node_id reduce) { return arguments(g, reduce, 2); }

inline index_set set_of(const graph& g, const std::vector<node_id>& indices) {
  index_set set;
  for (const node_id idx : indices) set.insert(g.ordinal(idx));
  return set;
}

// Ranges that depend on another bound index run inside it; the lanes run innermost.
inline std::vector<node_id> nesting_order(const graph& g, std::vector<node_id> list, node_id lane = no_node) {
  std::vector<node_id> sorted;
  if (lane != no_node) std::erase(list, lane);
  while (!list.empty()) {
    const auto free_of_others = [&](node_id idx) {
      return std::ranges::none_of(list, [&](node_id o) { return o != idx && g.free[idx].has(g.ordinal(o)); });
    };
    auto next = std::ranges::find_if(list, free_of_others);
    if (next == list.end()) next = list.begin();
    sorted.push_back(*next);
    list.erase(next);
  }
  if (lane != no_node) sorted.push_back(lane);
  return sorted;
}

inline std::vector<node_id> indices_of(const graph& g, const index_set& set) {
  std::vector<node_id> list;
  for (int o = 0; o < g.indices.size(); ++o)
    if (set.has(o)) list.push_back(g.indices[o]);
  return list;
}

// Does a reduction keep more than its result as it goes: an extreme beside its position, or a tuple?
inline bool keeps_several(const graph& g, node_id reduce) {
  return row(monoid_of(g, reduce)).position || folds_tuple(g, reduce);
}

inline bool is_term_by_term(const graph& g, node_id reduce) {
  return (g[reduce].attribute & numerics::term_by_term) != 0;
}
// Are its terms folded in the order of its indices?
inline bool is_folded_in_order(const graph& g, node_id reduce) {
  return in_order(g, monoid_of(g, reduce)) || is_term_by_term(g, reduce);
}

inline bool is_extremum(const graph& g, node_id n) {
  return g.kind(n) == op::reduce && (monoid_of(g, n) == monoid::max || monoid_of(g, n) == monoid::min);
}

// Do two reductions yield values of one state, folded over the same elements?
inline bool same_state(const graph& g, node_id a, node_id b) {
  const monoid x = monoid_of(g, a), y = monoid_of(g, b);
  if (!is_own(x) || !is_own(y) || sibling(g, x, 0) != sibling(g, y, 0) || g[a].count != g[b].count) return false;
  for (int k = 0; k < g[a].count; ++k)
    if (g.arg(a, k) != g.arg(b, k)) return false;
  return true;
}

// The free indices of an expression whose ranges depend on these. A reduction over one of these may stand inside the
// loops of such an index: its range is then about the outer one of that name.
inline std::vector<node_id> ranged_by(const graph& g, node_id n, const index_set& these) {
  std::vector<node_id> list = indices_of(g, g.free[n]);
  std::erase_if(list, [&](node_id idx) { return these.has(g.ordinal(idx)) || !g.free[idx].meets(these); });
  return list;
}

inline index_set indices_in(const graph& g, node_id root) {
  index_set all;
  for_each_node(g, root, [&](node_id n) {
    if (g.kind(n) == op::index) all.insert(g.ordinal(n));
  });
  return all;
}

// Is an expression the same whatever indices and data are?
inline bool is_uniform(const graph& g, node_id e) { return g.free[e].empty() && !holds(g, e, op::load); }
// Is it made of indices, extents and constants alone, one by one?
inline bool is_formula(const graph& g, node_id e) { return !holds(g, e, op::load) && !holds(g, e, op::reduce); }

// Does the range of an index depend on neither indices nor data?
inline bool is_closed(const graph& g, node_id idx) {
  const auto closed = [&](node_id end) { return g.free[end].empty() && is_formula(g, end); };
  return closed(g.arg(idx, 0)) && closed(g.arg(idx, 1));
}
// Can a tensor hold the values of n?
inline bool has_closed_ranges(const graph& g, node_id n) {
  const std::vector<node_id> list = indices_of(g, g.free[n]);
  return std::ranges::all_of(list, [&](node_id idx) { return is_closed(g, idx); });
}

}  // namespace sheaf::inline v0_1::plan
