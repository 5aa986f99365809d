// The derivatives of products and extrema by their elements, as expressions in the bound indices too. Both modes use
// them.
#pragma once
#include <sheaf/dsl/passes/fold_derivative.hpp>

namespace sheaf::inline v0_1 {

namespace derivative {

// The product divided by the element; where elements are zero, the product of the rest, which is zero if two are. What
// is zero is written with the sum of the zeros as a factor, so that its own derivative is right too; and beside one
// zero it is NaN where the rest is not finite, as in PyTorch.
constexpr node_id product_of_others(graph& g, node_id n) {
  const node_id body = g.arg(n, 0), zero = number_like(g, body, 0);
  const node_id is_zero = make(g, op::equal, body, zero);
  const node_id zeros = like(g, n, monoid::sum, integer(g, 1), is_zero), null = like(g, n, monoid::sum, body, is_zero);
  const node_id rest = like(g, n, monoid::prod, body, make(g, op::logical_not, is_zero));
  const node_id divisor = make(g, op::select, is_zero, number_like(g, body, 1), body);  // of what is not taken, too
  const node_id is_finite = make(g, op::less, make(g, op::abs, rest), number_like(g, body, math::infinity));
  const auto where = [&](int count, node_id e, node_id otherwise) {
    return make(g, op::select, make(g, op::equal, zeros, integer(g, count)), e, otherwise);
  };
  const auto vanishing = [&](node_id factor) {
    return make(g, op::select, is_finite, make(g, op::mul, factor, rest), zero);
  };
  const node_id at_zero = where(1, rest, where(2, vanishing(make(g, op::sub, null, body)), zero));
  const node_id elsewhere =
      where(0, make(g, op::div, n, divisor), where(1, make(g, op::div, make(g, op::mul, null, rest), divisor), zero));
  return make(g, op::select, is_zero, at_zero, elsewhere);
}

// What an element has of a maximum's derivative dy: ties share evenly, as in PyTorch's amax and amin. They are counted
// in f32 where the elements are narrower.
constexpr node_id share_of_ties(graph& g, node_id n, node_id dy) {
  const node_id body = g.arg(n, 0);
  const element type = g.type(body), wide = row(type).bytes < 4 ? element::f32 : type;
  const node_id hit = make(g, op::equal, body, n);
  const node_id ties = like(g, n, monoid::sum, integer(g, 1), hit);
  const node_id share = cast_to(g, type, make(g, op::div, cast_to(g, wide, dy), cast_to(g, wide, ties)));
  return make(g, op::select, hit, share, number_like(g, share, 0));
}

}  // namespace derivative

}  // namespace sheaf::inline v0_1
