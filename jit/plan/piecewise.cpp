#include <sheaf/jit/plan/piecewise.hpp>

#include <unordered_set>

#include <sheaf/jit/plan/bounds.hpp>
#include <sheaf/jit/plan/rewrite.hpp>
#include <sheaf/jit/plan/subscript_parts.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

using pieces = std::vector<subscript_part>;

class pieces_of_loads {
 public:
  pieces_of_loads(const context& c, const stage& s)
      : c_(c), g_(c.g), last_(s.indices.back()), folds_(holds(g_, s.body, op::reduce)) {}

  // The load itself where its subscripts are of one piece.
  node_id operator()(node_id load) const {
    for (int k = 1; k < g_[load].count; ++k) {
      const node_id found = node_in(g_.arg(load, k), [&](node_id e) { return g_.kind(e) == op::remainder; });
      if (found == no_node) continue;
      const node_id made = choice(load, k, found, parts_of_remainder(g_, found, g_.free[found], &c_.known));
      if (made != no_node) return made;
    }
    // Windows of sums are moved inside as a whole.
    if (folds_ || g_[load].count < 2) return load;
    const int k = g_[load].count - 1;
    const node_id found = node_in(g_.arg(load, k), [&](node_id e) { return bends(e); });
    const node_id made = found == no_node ? no_node : choice(load, k, found, pieces_at(found));
    return made == no_node ? load : made;
  }

 private:
  // Outside of what other loads and reductions a subscript has, the innermost first.
  template <class Is>
  node_id node_in(node_id e, const Is& is) const {
    std::unordered_set<node_id> seen;
    return node_in(e, is, seen);
  }
  template <class Is>
  node_id node_in(node_id e, const Is& is, std::unordered_set<node_id>& seen) const {
    if (!is_elementwise(g_.kind(e)) || !seen.insert(e).second) return no_node;
    for (int k = 0; k < g_[e].count; ++k)
      if (const node_id found = node_in(g_.arg(e, k), is, seen); found != no_node) return found;
    return is(e) ? e : no_node;
  }
  bool is_steady(node_id e) const { return !uses(g_, e, last_); }
  // Of neighbouring lanes neighbours, in either direction.
  bool moves_by_one(node_id e) const {
    const line l = split_affine(g_, e, last_);
    return l.affine && (l.slope == 1 || l.slope == -1);
  }
  bool bends(node_id e) const {
    if (g_.type(e) != element::i64) return false;
    const op kind = g_.kind(e);
    if (kind == op::abs) return moves_by_one(g_.arg(e, 0));
    if ((kind != op::minimum && kind != op::maximum) || is_steady(e)) return false;
    const auto is_line = [&](node_id a) { return is_steady(a) || moves_by_one(a); };
    return is_line(g_.arg(e, 0)) && is_line(g_.arg(e, 1));
  }
  pieces pieces_at(node_id e) const {
    const node_id a = g_.arg(e, 0);
    if (g_.kind(e) == op::abs) {
      const node_id zero = integer(g_, 0);
      return {{make(g_, op::less_equal, zero, a), a}, {make(g_, op::less, a, zero), make(g_, op::sub, zero, a)}};
    }
    const node_id b = g_.arg(e, 1), low = g_.kind(e) == op::minimum ? a : b, high = low == a ? b : a;
    return {{make(g_, op::less_equal, low, high), a}, {make(g_, op::less, high, low), b}};
  }

  // Of each piece of subscript k a load of its own.
  node_id choice(node_id load, int k, node_id bent, const pieces& list) const {
    node_id value = no_node;
    for (auto p = list.rbegin(); p != list.rend(); ++p) {
      replacement put(g_);
      put.keep_indices(g_.arg(load, k));
      put.rename(bent, p->at);
      std::vector<node_id> arguments;
      for (int i = 0; i < g_[load].count; ++i) arguments.push_back(i == k ? put(g_.arg(load, i)) : g_.arg(load, i));
      const node whole = g_[load];  // inside only where it is asked, or wherever it is
      node_id one = g_.intern(op::load, whole.type, whole.attribute & ~proven_inside, arguments.data(), whole.count);
      if (is_inside(g_, one)) one = proven(g_, one);
      value = value == no_node ? one : make(g_, op::select, p->where, one, value);
    }
    return value;
  }

  const context& c_;
  graph& g_;
  const node_id last_;
  const bool folds_;
};

}  // namespace

bool take_pieces(const context& c, stage& s) {
  if (c.known.call().gpu || s.how != way::map || s.indices.empty()) return false;
  const pieces_of_loads instead(c, s);
  return rewrite_loads(c.g, s.body, [&](node_id n) { return instead(n); });
}

}  // namespace sheaf::inline v0_1::plan
