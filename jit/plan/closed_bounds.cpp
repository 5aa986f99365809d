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

closed_bounds bounds_of_steps(graph& g, node_id e) {
  const op kind = g.kind(e);
  const closed_bounds a = closed_bounds_of(g, g.arg(e, 0)), b = closed_bounds_of(g, g.arg(e, 1));
  if (kind == op::minimum) return {both(g, kind, a.least, b.least), either(g, kind, a.most, b.most)};
  if (kind == op::maximum) return {either(g, kind, a.least, b.least), both(g, kind, a.most, b.most)};
  if (kind == op::sub) return {both(g, kind, a.least, b.most), both(g, kind, a.most, b.least)};
  return {both(g, kind, a.least, b.least), both(g, kind, a.most, b.most)};
}

}  // namespace

closed_bounds closed_bounds_of(graph& g, node_id e) {
  if (is_uniform(g, e)) return {e, e};
  if (g.type(e) != element::i64) return bounds_of_type(g, g.type(e));
  const op kind = g.kind(e);
  const auto limit = [&](int k) -> std::int64_t {
    const node_id n = g.arg(e, k);
    return is_constant(g, n) && g.type(n) == element::i64 ? g[n].attribute : -1;
  };
  if (kind == op::cast) return closed_bounds_of(g, g.arg(e, 0));
  if (kind == op::index && !is_unbound(g, e))
    return {closed_bounds_of(g, g.arg(e, 0)).least, closed_bounds_of(g, plus(g, g.arg(e, 1), -1)).most};
  if (kind == op::remainder && limit(1) > 0) return {integer(g, 0), integer(g, limit(1) - 1)};
  if (kind == op::bit_and)
    for (const int k : {0, 1})
      if (limit(k) >= 0) return {integer(g, 0), integer(g, limit(k))};
  const bool by_constant = (kind == op::mul || kind == op::quotient) && limit(1) > 0;
  const bool steps = kind == op::add || kind == op::sub || kind == op::minimum || kind == op::maximum || by_constant;
  return steps ? bounds_of_steps(g, e) : closed_bounds{};
}

}  // namespace sheaf::inline v0_1::plan
