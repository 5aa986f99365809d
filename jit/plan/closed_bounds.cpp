#include <sheaf/jit/plan/closed_bounds.hpp>

#include <sheaf/jit/plan/rewrite.hpp>

namespace sheaf::inline v0_1::plan {

namespace {

// A range of a type that is narrower than the i64 of subscripts.
closed_bounds bounds_of_type(graph& g, element type) {
  if (type == element::boolean) return {integer(g, 0), integer(g, 1)};
  if (!is_integer(type) || row(type).bytes >= 8) return {};
  const std::int64_t count = std::int64_t{1} << (8 * row(type).bytes);
  if (is_unsigned(type)) return {integer(g, 0), integer(g, count - 1)};
  return {integer(g, -count / 2), integer(g, count / 2 - 1)};
}

// Where both are known.
node_id both(graph& g, op kind, node_id x, node_id y) {
  return x == no_node || y == no_node ? no_node : make(g, kind, x, y);
}
// Of a minimum or maximum, the side that one of the two bounds by itself.
node_id either(graph& g, op kind, node_id x, node_id y) {
  return x == no_node ? y : y == no_node ? x : make(g, kind, x, y);
}

class bounds_of_nodes {
 public:
  explicit bounds_of_nodes(graph& g) : g_(g) {}
  // Of a node that many paths lead to once.
  closed_bounds operator()(node_id e) {
    if (is_uniform(g_, e)) return {e, e};
    if (g_.type(e) != element::i64) return bounds_of_type(g_, g_.type(e));
    if (const auto found = found_.find(e); found != found_.end()) return found->second;
    const closed_bounds b = of(e);
    return found_[e] = b;
  }

 private:
  closed_bounds of(node_id e) {
    const op kind = g_.kind(e);
    if (kind == op::cast) return (*this)(g_.arg(e, 0));
    if (kind == op::index && !is_unbound(g_, e))
      return {(*this)(g_.arg(e, 0)).least, (*this)(plus(g_, g_.arg(e, 1), -1)).most};
    if (kind == op::remainder && limit(e, 1) > 0) return {integer(g_, 0), integer(g_, limit(e, 1) - 1)};
    const bool divides = (kind == op::quotient || kind == op::remainder) && is_uniform(g_, g_.arg(e, 1));
    if (divides && limit(e, 1) <= 0) return kind == op::quotient ? quotients(e) : remainders(g_.arg(e, 1));
    if (kind == op::bit_and)
      for (const int k : {0, 1})
        if (limit(e, k) >= 0) return {integer(g_, 0), integer(g_, limit(e, k))};
    const bool by_constant =
        ((kind == op::mul || kind == op::quotient) && limit(e, 1) > 0) || (kind == op::mul && limit(e, 0) > 0);
    const bool steps = kind == op::add || kind == op::sub || kind == op::minimum || kind == op::maximum || by_constant;
    if (!steps) return {};
    const closed_bounds a = (*this)(g_.arg(e, 0)), b = (*this)(g_.arg(e, 1));
    if (kind == op::minimum) return {both(g_, kind, a.least, b.least), either(g_, kind, a.most, b.most)};
    if (kind == op::maximum) return {either(g_, kind, a.least, b.least), both(g_, kind, a.most, b.most)};
    if (kind == op::sub) return {both(g_, kind, a.least, b.most), both(g_, kind, a.most, b.least)};
    return {both(g_, kind, a.least, b.least), both(g_, kind, a.most, b.most)};
  }
  // Of floor division by a number of any sign, by 0 too.
  closed_bounds quotients(node_id e) {
    const closed_bounds a = (*this)(g_.arg(e, 0));
    const auto by = [&](node_id n) { return n == no_node ? no_node : make(g_, op::quotient, n, g_.arg(e, 1)); };
    const node_id first = by(a.least), last = by(a.most);
    return {both(g_, op::minimum, first, last), both(g_, op::maximum, first, last)};
  }
  closed_bounds remainders(node_id divisor) {
    const node_id zero = integer(g_, 0);
    return {make(g_, op::minimum, plus(g_, divisor, 1), zero), make(g_, op::maximum, plus(g_, divisor, -1), zero)};
  }
  // The argument, if it is a constant; else -1.
  std::int64_t limit(node_id e, int k) const {
    const node_id n = g_.arg(e, k);
    return is_constant(g_, n) && g_.type(n) == element::i64 ? g_[n].attribute : -1;
  }

  graph& g_;
  std::unordered_map<node_id, closed_bounds> found_;
};

}  // namespace

closed_bounds closed_bounds_of(graph& g, node_id e) { return bounds_of_nodes(g)(e); }

}  // namespace sheaf::inline v0_1::plan
