// Gradients as tensors of the language: they can be subscripted, printed, returned and differentiated again.
#pragma once
#include <sheaf/dsl/surface/define.hpp>

namespace sheaf::inline v0_1 {

namespace detail {

template <class X>
constexpr bool differentiable = true;
template <fixed_string Name, class T, int Rank, std::int64_t... Extents>
constexpr bool differentiable<tensor_<Name, T, Rank, Extents...>> = is_floating(element_of<T>);
template <class X>
constexpr element element_or_f32 = element::f32;
template <fixed_string Name, class T, int Rank, std::int64_t... Extents>
constexpr element element_or_f32<tensor_<Name, T, Rank, Extents...>> = element_of<T>;

template <class Y>
SHEAF_INLINE constexpr auto label_of() {
  if constexpr (Tensor<Y>)
    return Y::label;
  else
    return fixed_string("y");
}
template <class Y>
constexpr int rank_of() {
  if constexpr (Tensor<Y>)
    return Y::rank;
  else
    return 0;
}

template <class Y, class X>
SHEAF_INLINE constexpr void expect_differentiable() {
  static_assert(Tensor<X>,
                "gradient: what to differentiate by is a tensor, a scalar or a definition, without subscripts");
  if constexpr (Tensor<X>)
    expect<differentiable<X>, [] {
      return sentence{} << "gradient of " << label_of<Y>().text << " with respect to " << called<X>() << ": tensor "
                        << X::label.text << " is " << row(element_or_f32<X>).name
                        << "; gradients exist for floating tensors only";
    }>();
}

// d + y + _d + x
template <class Y, class X>
SHEAF_INLINE constexpr auto gradient_label() {
  constexpr auto make = [] { return sentence{} << "d" << label_of<Y>().text << "_d" << X::label.text; };
  return fixed<make>();
}

}  // namespace detail

// The cotangent that vjp(y, x) takes: an input shaped like y.
template <class Y>
struct cotangent_ : subscripts<cotangent_<Y>> {
  using subscripts<cotangent_>::operator=;
  static constexpr auto make_label = [] { return detail::sentence{} << "cotangent_" << Y::label.text; };
  static constexpr auto label = detail::fixed<make_label>();
  static constexpr int rank = Y::rank;
  static constexpr const char* symbol = &type_tag<cotangent_>;
  static constexpr built node(builder& b) {
    return b.tensor_like(b.name(label.text, label.length()), Y::node(b).id, symbol);
  }
};
template <Tensor Y>
SHEAF_INLINE constexpr auto cotangent(Y) {
  return cotangent_<Y>{};
}

// The gradient of y, seeded with 1 (grad) or with the tensor C (vjp).
template <class Y, class X, class C>
struct gradient_ : subscripts<gradient_<Y, X, C>> {
  using subscripts<gradient_>::operator=;
  static constexpr auto label = detail::gradient_label<Y, X>();
  static constexpr int rank = X::rank;
  static constexpr built node(builder& b) {
    return {b.tensor_of(&type_tag<gradient_>, [](builder& c) { return make_node(c); })};
  }

 private:
  static constexpr node_id make_node(builder& b) {
    const node_id y = b.output(Y{}, detail::label_of<Y>().text, detail::label_of<Y>().length());
    const node_id x = X::node(b).id;
    const name_id called = b.name(label.text, label.length());
    if constexpr (std::is_same_v<C, nothing>)
      return b.gradient_of(y, x, no_node, called);
    else
      return b.gradient_of(y, x, C::node(b).id, called);
  }
};

// The direction that jvp(y, x) takes: an input shaped like x.
template <class X>
struct tangent_ : subscripts<tangent_<X>> {
  using subscripts<tangent_>::operator=;
  static constexpr auto make_label = [] { return detail::sentence{} << "tangent_" << X::label.text; };
  static constexpr auto label = detail::fixed<make_label>();
  static constexpr int rank = X::rank;
  static constexpr const char* symbol = &type_tag<tangent_>;
  static constexpr built node(builder& b) {
    return b.tensor_like(b.name(label.text, label.length()), X::node(b).id, symbol);
  }
};
template <Tensor X>
SHEAF_INLINE constexpr auto tangent(X) {
  return tangent_<X>{};
}

// The derivative of y along the tensor V, shaped like y.
template <class Y, class X, class V>
struct directional_ : subscripts<directional_<Y, X, V>> {
  using subscripts<directional_>::operator=;
  static constexpr auto make_label = [] {
    return detail::sentence{} << "d" << detail::label_of<Y>().text << "_along_" << V::label.text;
  };
  static constexpr auto label = detail::fixed<make_label>();
  static constexpr int rank = detail::rank_of<Y>();
  static constexpr built node(builder& b) {
    return {b.tensor_of(&type_tag<directional_>, [](builder& c) { return make_node(c); })};
  }

 private:
  static constexpr node_id make_node(builder& b) {
    const node_id y = b.output(Y{}, detail::label_of<Y>().text, detail::label_of<Y>().length());
    const node_id x = X::node(b).id, v = V::node(b).id;
    return b.tangent_of(y, x, v, b.name(label.text, label.length()));
  }
};

namespace detail {
template <class Y>
inline constexpr bool has_automatic_name<cotangent_<Y>> = true;
template <class X>
inline constexpr bool has_automatic_name<tangent_<X>> = true;
template <class Y, class X, class C>
inline constexpr bool has_automatic_name<gradient_<Y, X, C>> = true;
template <class Y, class X, class V>
inline constexpr bool has_automatic_name<directional_<Y, X, V>> = true;
}  // namespace detail

template <class>
inline constexpr bool is_gradient = false;
template <class Y, class X, class C>
inline constexpr bool is_gradient<gradient_<Y, X, C>> = true;
template <class Y, class X, class V>
inline constexpr bool is_gradient<directional_<Y, X, V>> = true;

template <class Y>
SHEAF_INLINE constexpr auto grad(Y) {
  expect<std::is_void_v<Y>, [] {
    return detail::sentence{} << "grad: expected what is differentiated, and by what, as in grad(loss, x)";
  }>();
  return detail::refused{};
}
// The gradient of a scalar expression or definition with respect to a tensor: shaped like that.
template <Expression Y, class X>
SHEAF_INLINE constexpr auto grad(Y, X) {
  detail::expect_differentiable<Y, X>();
  expect<detail::rank_of<Y>() == 0, [] {
    return detail::sentence{} << "grad of " << detail::label_of<Y>().text << ": it has rank " << detail::rank_of<Y>()
                              << ", expected a scalar; vjp takes a cotangent";
  }>();
  if constexpr (Tensor<X>)
    return gradient_<Y, X, nothing>{};
  else
    return detail::refused{};
}

// The vector-Jacobian product: sum over y's elements of cotangent(y) * dy/dx. The cotangent is an input of the program,
// the symbol cotangent(y), or a tensor given as the third argument.
template <Expression Y, class X>
SHEAF_INLINE constexpr auto vjp(Y, X) {
  static_assert(Tensor<Y>,
                "vjp: what is differentiated is a definition; write define<\"name\">(indices...) = expression first");
  detail::expect_differentiable<Y, X>();
  if constexpr (Tensor<Y> && Tensor<X>)
    return gradient_<Y, X, cotangent_<Y>>{};
  else
    return detail::refused{};
}
template <Tensor Y, Tensor X, Tensor C>
SHEAF_INLINE constexpr auto vjp(Y, X, C) {
  detail::expect_differentiable<Y, X>();
  expect<C::rank == Y::rank, [] {
    return detail::sentence{} << "vjp of " << detail::called<Y>() << ": its rank is " << Y::rank << ", the cotangent "
                              << C::label.text << " has rank " << C::rank;
  }>();
  return gradient_<Y, X, C>{};
}

// The Jacobian-vector product: sum over x's elements of dy/dx * tangent(x), shaped like y, which is a definition or a
// scalar expression. The direction is an input of the program, the symbol tangent(x), or a tensor given as the third
// argument. One sweep over the expression: it costs about as much as y itself, whatever the size of x.
template <Expression Y, class X>
SHEAF_INLINE constexpr auto jvp(Y, X) {
  detail::expect_differentiable<Y, X>();
  if constexpr (Tensor<X>)
    return directional_<Y, X, tangent_<X>>{};
  else
    return detail::refused{};
}
template <Expression Y, Tensor X, Tensor V>
SHEAF_INLINE constexpr auto jvp(Y, X, V) {
  detail::expect_differentiable<Y, X>();
  expect<V::rank == X::rank, [] {
    return detail::sentence{} << "jvp by " << detail::called<X>() << ": its rank is " << X::rank << ", the direction "
                              << V::label.text << " has rank " << V::rank;
  }>();
  return directional_<Y, X, V>{};
}

// Several outputs at once, as compile(...) takes them.
template <class... Outputs>
struct outputs_ {};

template <Expression Y, class... X>
SHEAF_INLINE constexpr auto value_and_grad(Y y, X... x) {
  return outputs_<Y, decltype(grad(y, x))...>{};
}

}  // namespace sheaf::inline v0_1
