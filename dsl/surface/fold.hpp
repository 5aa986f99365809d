// Monoids of the program's own.
//
//   constexpr auto hypotenuse = own_monoid<"hypotenuse">(0_c, [](auto a, auto b) { return sqrt(a * a + b * b); })
//                                   .adjoint([](auto element, auto result) { return element / result; });
//   constexpr auto length = define<"length">(m) = fold(hypotenuse, t.in(lo(m), hi(m)), x(t));
#pragma once
#include <sheaf/dsl/surface/reduction.hpp>

namespace sheaf {

// An argument of a combination or an adjoint.
template <int K>
struct operand_ : expression_base {
  static constexpr built build(builder& b) { return b.operand(K); }
};

namespace detail {

template <class Rule>
SHEAF_INLINE constexpr void expect_rule_of_two() {
  static_assert(std::is_empty_v<Rule>, "own_monoid: a combination is a lambda without captures");
  static_assert(Expression<std::invoke_result_t<Rule, operand_<0>, operand_<1>>>,
                "own_monoid: a combination takes two arguments and returns an expression of them");
}

}  // namespace detail

template <fixed_string Name, class Identity, class Combine, class Adjoint = nothing>
struct own_monoid_ {
  // d result / d element, of the element and the result.
  template <class Rule>
  SHEAF_INLINE constexpr auto adjoint(Rule) const {
    detail::expect_rule_of_two<Rule>();
    return own_monoid_<Name, Identity, Combine, Rule>{};
  }

  static constexpr monoid node(builder& b, element type) {
    own_monoid_row m{b.name(Name.text, Name.length()), type, no_node, no_node, no_node};
    m.identity = cast_to(b.g, type, b(Identity{}).id);
    if (!is_constant(b.g, m.identity)) b.fail() << "fold " << Name.text << ": its identity is not a number";
    m.combine = expression<Combine>(b, type);
    if constexpr (!std::is_same_v<Adjoint, nothing>) m.adjoint = expression<Adjoint>(b, type);
    return b.own(m);
  }

 private:
  template <class Rule>
  static constexpr node_id expression(builder& b, element type) {
    return b.of_operands(type, [](builder& c) { return c(std::invoke_result_t<Rule, operand_<0>, operand_<1>>{}); });
  }
};

// A monoid: a number that changes nothing, and how two values become one. The combination must be associative and
// commutative, for values are combined in lanes and pieces, in a fixed order that is not that of the index. Gradients need
// an adjoint as well. What is done to the result stands around the fold.
template <fixed_string Name, Expression Identity, class Combine>
SHEAF_INLINE constexpr auto own_monoid(Identity, Combine) {
  detail::expect_rule_of_two<Combine>();
  return own_monoid_<Name, Identity, Combine>{};
}

template <class Monoid, class Index, class Body>
struct own_fold_ : expression_base {
  static constexpr built build(builder& b) {
    const auto bound = detail::bind_all(b, Index{});
    const node_id body = b(Body{}).id;
    const element type = b.g.type(body);
    // Integers are folded in i64 and halves in f32, as sums are; halves are rounded once at the end.
    const element wide = !is_floating(type) ? element::i64 : detail::is_half(type) ? element::f32 : type;
    const node_id result =
        b.reduction(Monoid::node(b, wide), bound.axes, decltype(bound)::count, cast_to(b.g, wide, body)).id;
    return {detail::is_half(type) ? cast_to(b.g, type, result) : result};
  }
};
// fold(monoid, t, e): e folded over t, a domain or over(...), with a monoid of the program's own.
template <fixed_string Name, class Identity, class Combine, class Adjoint, Indices I, Expression E>
SHEAF_INLINE constexpr auto fold(own_monoid_<Name, Identity, Combine, Adjoint>, I, E) {
  detail::expect_value<E>();
  return own_fold_<own_monoid_<Name, Identity, Combine, Adjoint>, I, E>{};
}

}  // namespace sheaf
