// Walks and rewrites over expressions that planning needs: who is inside, and the same with some nodes replaced.
// Definitions are closed, so neither goes into one through a load.
#pragma once
#include <algorithm>
#include <stdexcept>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <sheaf/dsl/passes/reduce.hpp>
#include <sheaf/jit/numerics/numerics.hpp>
#include <sheaf/jit/plan/bounds.hpp>

namespace sheaf::inline v0_1::plan {

// Calls visit(node) once for each node of an expression, arguments first; ranges of bound indices belong to it.
template <class Visit>
void for_each_node(const graph& g, node_id root, Visit&& visit) {
  std::unordered_set<node_id> seen;
  const auto walk = [&](auto&& self, node_id n) -> void {
    if (!seen.insert(n).second) return;
    for (int k = g.kind(n) == op::load ? 1 : 0; k < g[n].count; ++k)
      if (g.kind(n) != op::extent) self(self, g.arg(n, k));
    visit(n);
  };
  walk(walk, root);
}

inline bool holds(const graph& g, node_id root, op kind) {
  bool found = false;
  for_each_node(g, root, [&](node_id n) { found = found || g.kind(n) == kind; });
  return found;
}

// The reductions in an expression, those inside others first.
inline std::vector<node_id> reductions_in(const graph& g, node_id root) {
  std::vector<node_id> list;
  for_each_node(g, root, [&](node_id n) {
    if (g.kind(n) == op::reduce) list.push_back(n);
  });
  return list;
}

// The loads whose values say which row `load` is of. Those of an index's range do not: its rows lie one after the
// other.
inline std::vector<node_id> index_operands(const graph& g, node_id load) {
  std::vector<node_id> names;
  std::unordered_set<node_id> seen;
  const auto walk = [&](auto&& self, node_id n) -> void {
    if (g.kind(n) == op::index || g.kind(n) == op::extent || !seen.insert(n).second) return;
    if (g.kind(n) == op::load) names.push_back(n);
    for (int k = g.kind(n) == op::load ? 1 : 0; k < g[n].count; ++k) self(self, g.arg(n, k));
  };
  for (int k = 1; k < g[load].count; ++k) walk(walk, g.arg(load, k));
  return names;
}

// Does data say where a load goes in a dimension, or in its last one, so that each place is a line of its own? Data
// that an index's range depends on counts here, too.
inline bool data_names(const graph& g, node_id load, int dimension) {
  return holds(g, g.arg(load, 1 + dimension), op::load);
}
inline bool data_names_last(const graph& g, node_id load) {
  return g[load].count > 1 && data_names(g, load, g[load].count - 2);
}

// Does the expression depend on the index?
inline bool uses(const graph& g, node_id e, node_id idx) { return g.free[e].has(g.ordinal(idx)); }

inline node_id plus(graph& g, node_id e, std::int64_t n) { return make(g, op::add, e, integer(g, n)); }

inline node_id without_cast(const graph& g, node_id n) { return g.kind(n) == op::cast ? g.arg(n, 0) : n; }

inline bool is_function(const graph& g, node_id n) {
  return is_elementwise(g.kind(n)) && row(g.kind(n)).cost == op_cost::function;
}

// Do two indices run over the same values?
inline bool same_range(const graph& g, node_id a, node_id b) {
  return a == b || (known_equal(g, g.arg(a, 0), g.arg(b, 0)) && known_equal(g, g.arg(a, 1), g.arg(b, 1)));
}

// An elementwise expression with an op in it, outside of what it loads or reduces, that takes more than a few
// instructions.
inline bool is_slow(const graph& g, node_id n) {
  std::vector<node_id> open{n};
  std::unordered_set<node_id> seen{n};  // each shared node is visited once
  while (!open.empty()) {
    const node_id e = open.back();
    open.pop_back();
    if (!is_elementwise(g.kind(e))) continue;
    if (row(g.kind(e)).cost != op_cost::few) return true;
    for (int k = 0; k < g[e].count; ++k)
      if (seen.insert(g.arg(e, k)).second) open.push_back(g.arg(e, k));
  }
  return false;
}

// The bound indices of a reduction.
inline std::vector<node_id> bound_indices(const graph& g, node_id reduce) {
  std::vector<node_id> list;
  for (int k = 2; k < g[reduce].count; ++k) list.push_back(g.arg(reduce, k));
  return list;
}

inline index_set set_of(const graph& g, const std::vector<node_id>& indices) {
  index_set set;
  for (const node_id idx : indices) set.insert(g.ordinal(idx));
  return set;
}

// How many positions an index has, and how many tasks of one size hold so many.
inline node_id trips_of(graph& g, node_id idx) {
  return make(g, op::maximum, make(g, op::sub, g.arg(idx, 1), g.arg(idx, 0)), integer(g, 0));
}
inline node_id pieces_of_size(graph& g, node_id count, node_id size) {
  return make(g, op::quotient, make(g, op::add, count, make(g, op::sub, size, integer(g, 1))), size);
}
inline node_id pieces_of(graph& g, node_id count, std::int64_t size) {
  return pieces_of_size(g, count, integer(g, size));
}

// Ranges that depend on another bound index run inside it; the lanes run innermost.
inline std::vector<node_id> nesting_order(const graph& g, std::vector<node_id> list, node_id lane = no_node) {
  std::vector<node_id> sorted;
  if (lane != no_node) std::erase(list, lane);
  while (!list.empty()) {
    const auto free_of_others = [&](node_id idx) {
      return std::none_of(list.begin(), list.end(),
                          [&](node_id o) { return o != idx && g.free[idx].has(g.ordinal(o)); });
    };
    auto next = std::find_if(list.begin(), list.end(), free_of_others);
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

inline node_id intern_reduce(graph& g, monoid kind, element type, node_id body, node_id condition,
                             const std::vector<node_id>& indices, std::int64_t mark = 0) {
  std::vector<node_id> list{body, condition};
  list.insert(list.end(), indices.begin(), indices.end());
  const std::int64_t attribute = static_cast<std::int64_t>(kind) | mark;
  return g.intern(op::reduce, type, attribute, list.data(), static_cast<int>(list.size()));
}
// The reduction of a tuple that yields its value k.
inline node_id intern_value(graph& g, monoid kind, int k, node_id body, node_id condition,
                            const std::vector<node_id>& indices) {
  const monoid own = sibling(g, kind, k);
  return intern_reduce(g, own, own_row_of(g, own).type, body, condition, indices);
}

// An index under a name that nothing in the program has, so nothing captures it.
inline node_id fresh_index(graph& g, node_id like, node_id low, node_id high) {
  const int count = g.indices.size();
  node_id fresh = like;
  for (int serial = index_serial(g, like) + 1; g.indices.size() == count; ++serial)
    fresh = index(g, index_name(g, like), serial, low, high);
  return fresh;
}

// The free indices of an expression whose ranges depend on these. A reduction over one of these may stand inside the
// loops of such an index: its range is then about the outer one of that name.
inline std::vector<node_id> ranged_by(const graph& g, node_id n, const index_set& these) {
  std::vector<node_id> list = indices_of(g, g.free[n]);
  std::erase_if(list, [&](node_id idx) { return these.has(g.ordinal(idx)) || !g.free[idx].meets(these); });
  return list;
}

// Replaces nodes by others of the same value; loops stay as they are, unless reductions are to be simplified by what is
// now known of their bodies. What is of the same value for some indices `at` as they are outside only is not replaced
// in reductions over one of these. A replaced index stays in reductions over it, where it is another one; a renamed one
// is renamed there as well.
// Of loads whose subscripts change, `proofs` says whether they are still proven.
class replacement {
 public:
  explicit replacement(graph& g, const index_set& at = {}, bool simplifies = false)
      : g_(g), at_(at), simplifies_(simplifies) {}
  replacement(graph& g, proofs of_loads) : replacement(g) { proofs_ = of_loads; }
  void add(node_id from, node_id to) {
    rename(from, to);
    if (g_.kind(from) == op::index) hidden_.insert(g_.ordinal(from));
  }
  void keep_proofs() { proofs_ = proofs::kept; }
  void rename(node_id from, node_id to) {
    to_[from] = to;
    added_.push_back({from, to});
  }

  node_id operator()(node_id n) {
    if (const auto found = to_.find(n); found != to_.end()) return found->second;
    const node_id result = rebuilt(n);
    to_[n] = result;
    return result;
  }

 private:
  node_id rebuilt(node_id n) {
    const op kind = g_.kind(n);
    if (kind == op::extent || kind == op::define) return n;
    if (kind == op::reduce)
      for (const node_id idx : bound_indices(g_, n))
        if (at_.has(g_.ordinal(idx))) return n;
    if (kind == op::reduce && set_of(g_, bound_indices(g_, n)).meets(hidden_)) return with_own_indices(n);
    std::vector<node_id> list;
    bool same = true;
    for (int k = 0; k < g_[n].count; ++k) {
      const node_id a = g_.arg(n, k);
      list.push_back(kind == op::load && k == 0 ? a : (*this)(a));
      same = same && list.back() == a;
    }
    if (same) return n;
    if (kind == op::cast) return cast_to(g_, g_.type(n), list[0]);
    if (is_elementwise(kind))
      return make(g_, kind, list[0], list.size() > 1 ? list[1] : no_node, list.size() > 2 ? list[2] : no_node);
    const node old = g_[n];
    if (kind == op::reduce && simplifies_ && is_plain(list))
      return cast_to(g_, old.type,
                     reduce(g_, static_cast<monoid>(old.attribute), list[0], list[1], list.data() + 2, old.count - 2));
    if (kind == op::load) return rebuilt_load(n, list);
    return g_.intern(old.kind, old.type, old.attribute, list.data(), old.count);
  }

  // A reduction over indices that are replaced outside.
  node_id with_own_indices(node_id n) {
    const index_set own = set_of(g_, bound_indices(g_, n));
    replacement inside(g_, at_, simplifies_);
    inside.proofs_ = proofs_;
    for (const auto& [from, to] : added_) {
      const bool hides = g_.kind(from) == op::index && hidden_.has(g_.ordinal(from));
      if (hides && own.has(g_.ordinal(from))) continue;
      if (hides) inside.add(from, to);
      else inside.rename(from, to);
    }
    for (const node_id outer : ranged_by(g_, n, own)) inside.add(outer, (*this)(outer));
    return inside(n);
  }

  // Nothing inside reduces over the indices bound here, or by what depends on them.
  bool is_plain(const std::vector<node_id>& list) const {
    index_set bound;
    for (std::size_t k = 2; k < list.size(); ++k) bound.insert(g_.ordinal(list[k]));
    bool plain = true;
    for (std::size_t k = 0; k < 2; ++k)
      for_each_node(g_, list[k], [&](node_id q) {
        if (g_.kind(q) != op::reduce) return;
        plain = plain && !g_.free[q].meets(bound);
        for (const node_id idx : bound_indices(g_, q)) plain = plain && !bound.has(g_.ordinal(idx));
      });
    return plain;
  }

  // What was inside by its ranges alone needs a proof where others take their place.
  node_id rebuilt_load(node_id n, const std::vector<node_id>& list) {
    const node old = g_[n];
    const std::int64_t bare = old.attribute & ~proven_inside;
    const node_id made = g_.intern(op::load, old.type, bare, list.data(), old.count);
    const bool proves = is_proven(g_, n) ? keeps_proofs() : proofs_ == proofs::kept && is_inside(g_, n);
    return proves && !is_inside(g_, made) ? proven(g_, made) : made;
  }

  // A node of any other kind stands for one of the same value.
  bool keeps_proofs() {
    return proofs_ == proofs::kept || std::all_of(added_.begin(), added_.end(), [&](const auto& pair) {
             return g_.kind(pair.first) != op::index || lies_in_range(g_, pair.first, pair.second);
           });
  }

  graph& g_;
  index_set at_;
  index_set hidden_;  // indices among them, but for those renamed
  bool simplifies_;
  proofs proofs_ = proofs::known;
  std::vector<std::pair<node_id, node_id>> added_;
  std::unordered_map<node_id, node_id> to_;
};

// Expressions without the proofs of their loads, to be compared and not evaluated.
class without_proofs {
 public:
  node_id operator()(graph& g, node_id e) {
    const node n = g[e];
    if (n.kind != op::load && n.kind != op::reduce && n.kind != op::tuple && !is_elementwise(n.kind)) return e;
    if (const auto found = done_.find(e); found != done_.end()) return found->second;
    std::vector<node_id> list;
    for (int k = 0; k < n.count; ++k) list.push_back((*this)(g, g.arg(e, k)));
    const std::int64_t attribute = n.kind == op::load ? n.attribute & ~proven_inside : n.attribute;
    return done_[e] = g.intern(n.kind, n.type, attribute, list.data(), n.count);
  }

 private:
  std::unordered_map<node_id, node_id> done_;
};

// Are they worth the same, whatever was proven of their loads?
inline bool is_same(graph& g, node_id a, node_id b) {
  without_proofs bare;
  return a == b || bare(g, a) == bare(g, b);
}

// An index under a name that nothing in an expression has: none of its reductions captures it. Programs hold few
// indices, and those that an earlier rewrite made for other expressions will do.
inline node_id unused_index(graph& g, node_id like, node_id low, node_id high, const index_set& used) {
  node_id found = like;
  int serial = index_serial(g, like);
  do found = index(g, index_name(g, like), ++serial, low, high);
  while (used.has(g.ordinal(found)));
  return found;
}
inline index_set indices_in(const graph& g, node_id root) {
  index_set all;
  for_each_node(g, root, [&](node_id n) {
    if (g.kind(n) == op::index) all.insert(g.ordinal(n));
  });
  return all;
}

// The expression with the bodies of definitions in the place of those loads of them that are chosen.
template <class Chosen>
node_id with_inlined(graph& g, node_id e, Chosen chosen) {
  for (;;) {
    node_id use = no_node;
    for_each_node(g, e, [&](node_id n) {
      if (g.kind(n) == op::load && g.kind(g.arg(n, 0)) == op::define && chosen(g.arg(n, 0))) use = n;
    });
    if (use == no_node) return e;
    std::vector<node_id> subscripts;
    for (int k = 1; k < g[use].count; ++k) subscripts.push_back(g.arg(use, k));
    replacement put(g);
    put.add(use, inlined(g, g.arg(use, 0), subscripts.data()));
    e = put(e);
  }
}

// The same reduction with a bound index under another name.
inline node_id renamed(graph& g, node_id n, node_id idx) {
  replacement put(g, proofs::kept);
  put.add(idx, unused_index(g, idx, g.arg(idx, 0), g.arg(idx, 1), indices_in(g, n)));
  for (const node_id outer : ranged_by(g, n, set_of(g, {idx}))) put.add(outer, outer);
  std::vector<node_id> list;
  for (int k = 0; k < g[n].count; ++k) list.push_back(put(g.arg(n, k)));
  return g.intern(op::reduce, g.type(n), g[n].attribute, list.data(), g[n].count);
}

// The same expression with no reduction over idx in it, so that idx can stand for another of its indices.
inline node_id without_binding(graph& g, node_id e, node_id idx) {
  for (;;) {
    node_id binds = no_node;
    for_each_node(g, e, [&](node_id n) {
      if (g.kind(n) != op::reduce) return;
      for (const node_id bound : bound_indices(g, n))
        if (bound == idx) binds = n;
    });
    if (binds == no_node) return e;
    replacement put(g, proofs::kept);
    put.add(binds, renamed(g, binds, idx));
    e = put(e);
  }
}

// Does the range of an index depend on neither indices nor data?
inline bool is_closed(const graph& g, node_id idx) {
  for (int k = 0; k < 2; ++k)
    if (!g.free[g.arg(idx, k)].empty() || holds(g, g.arg(idx, k), op::load) || holds(g, g.arg(idx, k), op::reduce))
      return false;
  return true;
}
// Can a tensor hold the values of n?
inline bool has_closed_ranges(const graph& g, node_id n) {
  const std::vector<node_id> list = indices_of(g, g.free[n]);
  return std::all_of(list.begin(), list.end(), [&](node_id idx) { return is_closed(g, idx); });
}

}  // namespace sheaf::inline v0_1::plan
