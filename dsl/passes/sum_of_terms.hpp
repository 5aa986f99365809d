// A sum in a gradient. Terms that are halves only because a cast rounds them, as those of a logsumexp's gradient, which
// is computed in f32, are summed as they were before it: the sum is rounded, once.
// Input: a term, its condition and the indices. Output: the sum, of the term's type. Shown by
// tests/gradient/halves.cpp.
#pragma once
#include <sheaf/dsl/passes/reduce.hpp>

namespace sheaf::inline v0_1 {

// The same before it was rounded; no_node: it was not.
constexpr node_id before_rounding(graph& g, node_id e) {
  if (!is_half(g.type(e))) return no_node;
  if (g.kind(e) == op::cast) return is_floating(g.type(g.arg(e, 0))) ? g.arg(e, 0) : no_node;
  if (g.kind(e) != op::select || !is_number(g, g.arg(e, 2), 0)) return no_node;
  const node_id wide = before_rounding(g, g.arg(e, 1));
  return wide == no_node ? no_node : make(g, op::select, g.arg(e, 0), wide, number_like(g, wide, 0));
}

constexpr node_id sum_of_terms(graph& g, node_id value, node_id condition, const flat<node_id>& indices) {
  const node_id wide = before_rounding(g, value);
  if (wide == no_node) return reduce(g, monoid::sum, value, condition, indices.data(), indices.size());
  return cast_to(g, g.type(value), reduce(g, monoid::sum, wide, condition, indices.data(), indices.size()));
}

}  // namespace sheaf::inline v0_1
