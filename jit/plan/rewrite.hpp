// Rewrites of expressions that planning needs: new reductions and indices, and the same expression with some nodes
// replaced. Definitions are closed, so none goes into one through a load.
#pragma once
#include <unordered_map>
#include <utility>

#include <sheaf/jit/plan/walks.hpp>

namespace sheaf::inline v0_1::plan {

inline node_id plus(graph& g, node_id e, std::int64_t n) { return make(g, op::add, e, integer(g, n)); }

// How many positions an index has.
inline node_id trips_of(graph& g, node_id idx) {
  return make(g, op::maximum, make(g, op::sub, g.arg(idx, 1), g.arg(idx, 0)), integer(g, 0));
}
// How many blocks of one size hold so many.
inline node_id ceil_quotient(graph& g, node_id count, node_id size) {
  return make(g, op::quotient, make(g, op::add, count, make(g, op::sub, size, integer(g, 1))), size);
}
inline node_id blocks_in(graph& g, node_id count, std::int64_t size) {
  return ceil_quotient(g, count, integer(g, size));
}

inline node_id intern_reduce(graph& g, monoid kind, element type, node_id body, node_id condition,
                             const std::vector<node_id>& indices, std::int64_t mark = 0) {
  std::vector<node_id> list{body, condition};
  list.insert(list.end(), indices.begin(), indices.end());
  const std::int64_t attribute = static_cast<std::int64_t>(kind) | mark;
  return g.intern(op::reduce, type, attribute, list.data(), static_cast<int>(list.size()));
}
// A reduction of something else, with its marks.
inline node_id with_body(graph& g, node_id reduce, node_id body) {
  std::vector<node_id> list = arguments(g, reduce, 0);
  list[0] = body;
  return g.intern(op::reduce, g.type(reduce), g[reduce].attribute, list.data(), static_cast<int>(list.size()));
}
// The reduction of a tuple that yields its value k.
inline node_id intern_value(graph& g, monoid kind, int k, node_id body, node_id condition,
                            const std::vector<node_id>& indices) {
  const monoid own = sibling(g, kind, k);
  return intern_reduce(g, own, own_row_of(g, own).type, body, condition, indices);
}

inline node_id load_at(graph& g, node_id tensor, const std::vector<node_id>& subscripts) {
  return load(g, tensor, subscripts.data(), static_cast<int>(subscripts.size()));
}

// An index under a name that nothing in the program has, so nothing captures it.
inline node_id fresh_index(graph& g, node_id like, node_id low, node_id high) {
  const int count = g.size();
  node_id fresh = like;
  for (int serial = index_serial(g, like) + 1; g.size() == count; ++serial)
    fresh = index(g, index_name(g, like), serial, low, high);
  return fresh;
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
  void drop_proofs() { drops_proofs_ = true; }
  // Of a part of a reduction: its indices, whose ranges may hold what is replaced, are bound elsewhere too.
  void keep_indices(node_id root) {
    for_each_node(g_, root, [&](node_id n) {
      if (g_.kind(n) == op::index) rename(n, n);
    });
  }
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
    const bool marked = kind == op::reduce && old.attribute != static_cast<std::int64_t>(monoid_of(g_, n));
    if (kind == op::reduce && simplifies_ && !marked && is_plain(list))
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
    inside.drops_proofs_ = drops_proofs_;
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
    const auto meets = [&](node_id q) {
      return g_.kind(q) == op::reduce && (g_.free[q].meets(bound) || set_of(g_, bound_indices(g_, q)).meets(bound));
    };
    return !any_node(g_, list[0], meets) && !any_node(g_, list[1], meets);
  }

  // What was inside by its ranges alone needs a proof where others take their place.
  node_id rebuilt_load(node_id n, const std::vector<node_id>& list) {
    const node old = g_[n];
    const std::int64_t bare = old.attribute & ~proven_inside;
    const node_id made = g_.intern(op::load, old.type, bare, list.data(), old.count);
    const bool proves = is_proven(g_, n) ? keeps_proofs() : proofs_ == proofs::kept && is_inside(g_, n);
    if (drops_proofs_) return made;
    return proves && !is_inside(g_, made) ? proven(g_, made) : made;
  }

  // A node of any other kind stands for one of the same value.
  bool keeps_proofs() {
    return proofs_ == proofs::kept || std::ranges::all_of(added_, [&](const auto& pair) {
             return g_.kind(pair.first) != op::index || lies_in_range(g_, pair.first, pair.second);
           });
  }

  graph& g_;
  index_set at_;
  index_set hidden_;  // indices among them, but for those renamed
  bool simplifies_;
  proofs proofs_ = proofs::known;
  bool drops_proofs_ = false;
  std::vector<std::pair<node_id, node_id>> added_;
  std::unordered_map<node_id, node_id> to_;
};

inline node_id with(graph& g, node_id e, node_id from, node_id to, proofs of_loads = proofs::known) {
  replacement put(g, of_loads);
  put.add(from, to);
  return put(e);
}

// Loads of an expression by others of the same value, or by themselves. Was any replaced?
template <class Instead>
bool rewrite_loads(graph& g, node_id& e, const Instead& instead) {
  replacement all(g, proofs::kept);
  bool any = false;
  for (const node_id n : loads_in(g, e)) {
    const node_id other = instead(n);
    if (other != n) all.rename(n, other);
    any = any || other != n;
  }
  if (any) e = all(e);
  return any;
}

// Expressions without the proofs of their loads: to be compared, or evaluated where those do not hold. The ranges of
// indices keep theirs.
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
// The expression with the bodies of definitions in the place of those loads of them that are chosen.
template <class Chosen>
node_id with_inlined(graph& g, node_id e, Chosen chosen) {
  for (;;) {
    node_id use = no_node;
    for_each_node(g, e, [&](node_id n) {
      if (g.kind(n) == op::load && g.kind(g.arg(n, 0)) == op::define && chosen(g.arg(n, 0))) use = n;
    });
    if (use == no_node) return e;
    std::vector<node_id> subscripts = arguments(g, use, 1);
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

}  // namespace sheaf::inline v0_1::plan
