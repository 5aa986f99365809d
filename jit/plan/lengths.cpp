#include <sheaf/jit/plan/lengths.hpp>

#include <sheaf/dsl/graph/affine.hpp>
#include <sheaf/jit/plan/rewrite.hpp>

namespace sheaf::inline v0_1::plan {

std::optional<mover> mover_of(graph& g, node_id bound, node_id over) {
  mover m;
  while (g.kind(bound) == op::minimum || g.kind(bound) == op::maximum) {
    const int k = uses(g, g.arg(bound, 0), over) ? 0 : 1;
    if (uses(g, g.arg(bound, 1 - k), over)) return std::nullopt;
    m.limited = true;
    bound = g.arg(bound, k);
  }
  m.moving = bound;
  const line l = split_affine(g, bound, over);
  m.slope = l.slope;
  m.rest = l.rest;
  m.more = integer(g, 0);
  if (l.affine) return m;
  linear terms;
  collect(g, bound, 1, terms);
  for (const linear::term& t : terms.terms) {
    if (t.factor == 0 || !uses(g, t.node, over)) continue;
    if (m.by != 0 || t.factor != 1 || g.kind(t.node) != op::quotient || !linears::divides_by_constant(g, t.node))
      return std::nullopt;
    m.by = g[g.arg(t.node, 1)].attribute;
    const line inner = split_affine(g, g.arg(t.node, 0), over);
    if (!inner.affine || inner.slope != 1) return std::nullopt;
    m.rest = inner.rest;
    m.more = make(g, op::sub, bound, t.node);
  }
  return m;
}

length length_of(graph& g, const std::optional<mover>& low, const std::optional<mover>& high) {
  if (!low || !high || low->slope != high->slope || low->by != high->by) return {};
  const node_id apart = make(g, op::sub, high->rest, low->rest), more = make(g, op::sub, high->more, low->more);
  if (!is_constant(g, apart) || !is_constant(g, more)) return {};
  const std::int64_t size = g[apart].attribute;
  if (low->by == 0) return {true, false, size};
  return {true, size % low->by != 0, math::floor_quotient(size, low->by) + g[more].attribute};
}

}  // namespace sheaf::inline v0_1::plan
