// Axes, tensors, subscripts and domains. See docs/language.md.
#pragma once
#include <utility>

#include <sheaf/dsl/surface/expression.hpp>
#include <sheaf/dsl/surface/outside.hpp>

namespace sheaf::inline v0_1 {

template <int D>
struct dim_ {
  static constexpr int value = D;
};
// A position among a tensor's dimensions.
template <int D>
SHEAF_HIDDEN inline constexpr auto dim = dim_<D>{};

// What `symbol = value` makes: an argument of a call. It refers to the value for the call's duration.
template <class Symbol, class Value>
struct binding {
  using symbol = Symbol;
  Value&& value;
};

// What `symbol += value` makes: an output that is added to what is there.
template <class Symbol, class Value>
struct addition : binding<Symbol, Value> {};

template <class Axis, class Low, class High, class Step, class Condition>
struct domain_;

struct nothing {};

template <fixed_string Name, std::int64_t Size = dynamic>
struct axis_ : expression_base, index_base {
  static constexpr auto label = Name;
  static constexpr built build(builder& b) { return b.axis(b.name(Name.text, Name.length()), Size); }

  // The axis over [low, high), or every step-th of it; the bounds may be data.
  template <class Low, class High>
  SHEAF_INLINE constexpr auto in(const Low&, const High&) const {
    if constexpr (detail::are_values<Low, High>)
      return domain_<axis_, Low, High, nothing, nothing>{};
    else
      return refused_domain(detail::refuse<Low, High>());
  }
  template <class Bound>
  SHEAF_INLINE constexpr auto in(const Bound&) const {
    expect<std::is_void_v<Bound>, [] {
      return detail::sentence{} << "axis " << Name.text << ": a range has two bounds, as in " << Name.text
                                << ".in(0_c, n)";
    }>();
    return refused_domain(detail::refused{});
  }
  // A negative step counts down from low to above high.
  template <class Low, class High, class Step>
  SHEAF_INLINE constexpr auto in(const Low&, const High&, const Step&) const {
    if constexpr (detail::are_values<Low, High, Step>)
      return domain_<axis_, Low, High, Step, nothing>{};
    else
      return refused_domain(detail::refuse<Low, High, Step>());
  }
  // Only where the condition holds.
  template <class C>
  SHEAF_INLINE constexpr auto where(const C&) const {
    if constexpr (detail::is_value<C>)
      return domain_<axis_, nothing, nothing, nothing, C>{};
    else
      return refused_domain(detail::refuse<C>());
  }
  static constexpr bound_axis bind(builder& b) { return {b(axis_{}).id}; }

 private:
  SHEAF_INLINE static constexpr auto refused_domain(detail::refused) {
    return domain_<axis_, detail::refused, detail::refused, nothing, nothing>{};
  }
};

// axis<"t">: the name of a loop. Its extent comes from what it subscripts; axis<"k", 8> declares it.
template <fixed_string Name, std::int64_t Size = dynamic>
SHEAF_HIDDEN inline constexpr auto axis = axis_<Name, Size>{};

template <class Axis, class Low, class High, class Step, class Condition>
struct domain_ : index_base {
  static constexpr auto label = Axis::label;
  template <class C>
  SHEAF_INLINE constexpr auto where(const C&) const {
    static_assert(std::is_same_v<Condition, nothing>, "where: the domain has a condition already; join them with &&");
    if constexpr (detail::is_value<C>)
      return domain_<Axis, Low, High, Step, C>{};
    else
      return domain_<Axis, Low, High, Step, decltype(detail::refuse<C>())>{};
  }
  static constexpr bound_axis bind(builder& b) {
    return {b(Axis{}).id, bound(b, Low{}), bound(b, High{}), bound(b, Step{}), condition(b, Condition{})};
  }

 private:
  static constexpr node_id bound(builder&, nothing) { return no_node; }
  template <class E>
  static constexpr node_id bound(builder& b, E e) {
    const node_id n = b(e).id;
    if (is_floating(b.g.type(n)))
      b.fail() << "domain of " << label.text << ": a bound is " << row(b.g.type(n)).name << ", expected an integer";
    return cast_to(b.g, element::i64, n);
  }
  static constexpr node_id condition(builder&, nothing) { return no_node; }
  template <class E>
  static constexpr node_id condition(builder& b, E e) {
    const node_id n = b(e).id;
    return b.g.type(n) == element::boolean ? n : make(b.g, op::not_equal, n, number_like(b.g, n, 0));
  }
};

// Several indices of one reduction, outermost first; a later one's domain may depend on those before it.
template <class... I>
struct over_ : index_base {};
template <Indices... I>
SHEAF_INLINE constexpr auto over(I...) {
  return over_<I...>{};
}

// What an access promises: `checked` that it is inside; `guarded` is moved inside or stands behind a condition; one
// that is `skipping` leaves its term out of the reduction around it where it is outside. The attribute of the load
// node.
enum class access : std::uint8_t { checked, guarded, skipping };

template <class T, access Kind, class... Subscripts>
struct load_ : expression_base {
  static constexpr built build(builder& b) {
    const built list[sizeof...(Subscripts) + 1] = {b(Subscripts{})...};
    return b.load(T::node(b), list, static_cast<int>(sizeof...(Subscripts)), static_cast<int>(Kind));
  }
  template <class V>
  SHEAF_INLINE constexpr void operator=(V&&) const {
    not_assigned<V>();
  }
  template <class V>
  SHEAF_INLINE constexpr void operator+=(V&&) const {
    not_assigned<V>();
  }
  template <class V>
  SHEAF_INLINE constexpr void operator-=(V&&) const {
    not_assigned<V>();
  }
  template <class V>
  SHEAF_INLINE constexpr void operator*=(V&&) const {
    not_assigned<V>();
  }
  template <class V>
  SHEAF_INLINE constexpr void operator/=(V&&) const {
    not_assigned<V>();
  }

 private:
  template <class V>
  static constexpr void not_assigned() {
    expect<sizeof(V) == 0, [] {
      return detail::sentence{} << "assignment to an element of " << detail::called<T>()
                                << ": expressions are not assigned to; write define<\"name\">(indices...) = expression";
    }>();
  }
};

namespace detail {

// Do these subscribe an element of T?
template <class T, class... S>
inline constexpr bool are_subscripts = T::rank == sizeof...(S) && are_values<S...>;
template <class T, class... S>
SHEAF_INLINE constexpr auto refuse_subscripts() {
  constexpr int got = sizeof...(S);
  if constexpr (T::rank != got) {
    expect<T::rank == got, [] {
      return sentence{} << "subscript: tensor " << called<T>() << " has rank " << T::rank << ", got " << got
                        << " subscripts";
    }>();
    return refused{};
  } else {
    return refuse<S...>();
  }
}

// A subscript pattern for out-of-range positions. `x.padded(v)(i, j)` is v outside x.
template <class T, class V>
struct padded_ {
  template <class... S>
  SHEAF_INLINE constexpr auto operator()(const S&... s) const {
    if constexpr (are_subscripts<T, S...>)
      return select(T{}.inside(s...), load_<T, access::guarded, S...>{}, V{});
    else
      return refuse_subscripts<T, S...>();
  }
};

}  // namespace detail

template <class T, int D>
struct extent_ : expression_base {
  static constexpr built build(builder& b) { return b.extent_of(T::node(b), D); }
};

namespace detail {

template <outside Rule, class T, class... S>
struct moved_ : expression_base {
  static constexpr built build(builder& b) {
    const built tensor = T::node(b);
    built list[sizeof...(S) + 1] = {b(S{})...};
    for (int d = 0; d < static_cast<int>(sizeof...(S)); ++d)
      list[d] = {moved_inside(b.g, Rule, list[d].id, extent(b.g, tensor.id, d)), false};
    return b.load(tensor, list, static_cast<int>(sizeof...(S)), static_cast<int>(access::guarded));
  }
};
template <outside Rule, class T, class... S>
SHEAF_INLINE constexpr auto moved(const S&...) {
  if constexpr (are_subscripts<T, S...>)
    return moved_<Rule, T, S...>{};
  else
    return refuse_subscripts<T, S...>();
}

}  // namespace detail

// What everything that can be subscripted shares: inputs, definitions, gradients.
template <class Self>
struct subscripts : tensor_base {
  template <class... S>
  SHEAF_INLINE constexpr auto operator()(const S&...) const {
    if constexpr (detail::are_subscripts<Self, S...>)
      return load_<Self, access::checked, S...>{};
    else
      return detail::refuse_subscripts<Self, S...>();
  }
  // An argument of a call (inputs), or where an output goes (definitions and gradients).
  template <class V>
  SHEAF_INLINE constexpr auto operator=(V&& value) const {
    expect_no_expression<V>();
    return binding<Self, V>{static_cast<V&&>(value)};
  }
  // Of a call: the output is added to what the value holds.
  template <class V>
  SHEAF_INLINE constexpr auto operator+=(V&& value) const {
    expect_no_expression<V>();
    return addition<Self, V>{{static_cast<V&&>(value)}};
  }
  template <int D>
  SHEAF_INLINE constexpr auto extent(dim_<D>) const {
    static_assert(D >= 0 && D < Self::rank, "extent: the dimension is not one of the tensor's");
    return extent_<Self, D>{};
  }
  template <Number D>
  SHEAF_INLINE constexpr auto extent(D) const {
    expect<!Number<D>, [] {
      return detail::sentence{} << "extent of " << detail::called<Self>() << ": a dimension is dim<1>, not a number";
    }>();
    return detail::refused{};
  }
  // Is (s...) a position of the tensor?
  template <class... S>
  SHEAF_INLINE constexpr auto inside(const S&... s) const {
    if constexpr (detail::are_subscripts<Self, S...>)
      return inside_from<0>(s...);
    else
      return detail::refuse_subscripts<Self, S...>();
  }
  // value(i, j) outside the tensor.
  template <Expression V>
  SHEAF_INLINE constexpr auto padded(V) const {
    return detail::padded_<Self, V>{};
  }
  // The nearest element.
  template <class... S>
  SHEAF_INLINE constexpr auto clamped(const S&... s) const {
    return detail::moved<outside::to_the_edge, Self>(s...);
  }
  // Mirrored at the first and last element, which are not repeated: PyTorch's "reflect", however far outside.
  template <class... S>
  SHEAF_INLINE constexpr auto reflected(const S&... s) const {
    return detail::moved<outside::back_and_forth, Self>(s...);
  }
  // Subscripts modulo the extents: PyTorch's "circular"; roll(x, k)(i) is x.wrapped(i - k).
  template <class... S>
  SHEAF_INLINE constexpr auto wrapped(const S&... s) const {
    return detail::moved<outside::around, Self>(s...);
  }
  // What x(i, j) does, said aloud: outside the tensor is an error.
  template <class... S>
  SHEAF_INLINE constexpr auto checked(const S&... s) const {
    return (*this)(s...);
  }
  // Leaves out the term of the reduction that binds one of its indices where it is outside: no term, no count.
  template <class... S>
  SHEAF_INLINE constexpr auto skipping(const S&...) const {
    if constexpr (detail::are_subscripts<Self, S...>)
      return load_<Self, access::skipping, S...>{};
    else
      return detail::refuse_subscripts<Self, S...>();
  }

  // A tensor by itself is a value where its rank is 0.
  static constexpr built build(builder& b) { return b.load(Self::node(b), nullptr, 0); }

 private:
  template <class V>
  SHEAF_INLINE static constexpr void expect_no_expression() {
    expect<!Expression<V>, [] {
      return detail::sentence{} << "assignment to tensor " << detail::called<Self>()
                                << ": expressions are not assigned to; write define<\"name\">(indices...) = expression";
    }>();
  }
  template <int D, class S, class... Rest>
  SHEAF_INLINE static constexpr auto inside_from(const S& s, const Rest&... rest) {
    const auto here = literal_<0>{} <= s && s < extent_<Self, D>{};
    if constexpr (sizeof...(Rest) == 0)
      return here;
    else
      return here && inside_from<D + 1>(rest...);
  }
};

template <fixed_string Name, class T, int Rank, std::int64_t... Extents>
struct tensor_ : subscripts<tensor_<Name, T, Rank, Extents...>> {
  static_assert(Rank >= 0 && Rank <= max_rank, "tensor: its rank is from 0 to 8");
  static_assert(is_element<T>, "tensor: this is not an element type of Sheaf (see docs/language.md)");
  static_assert(sizeof...(Extents) == 0 || sizeof...(Extents) == Rank,
                "tensor: give one extent for each dimension, or none");
  using subscripts<tensor_>::operator=;
  using value_type = T;
  static constexpr auto label = Name;
  static constexpr int rank = Rank;
  static constexpr built node(builder& b) {
    std::int64_t extents[Rank + 1] = {Extents...};
    for (int d = 0; d < Rank && sizeof...(Extents) == 0; ++d) extents[d] = dynamic;
    return b.tensor(b.name(Name.text, Name.length()), element_of<T>, Rank, extents);
  }
};

// tensor<"x", float, 2>: an input. Extents are taken from the argument, or fixed: tensor<"w", float, 2, 64, 10>;
// sheaf::dynamic stands for one that is not fixed.
template <fixed_string Name, class T, int Rank, std::int64_t... Extents>
SHEAF_HIDDEN inline constexpr auto tensor = tensor_<Name, T, Rank, Extents...>{};

// scalar<"rate", float>: a number known at run time.
template <fixed_string Name, class T>
SHEAF_HIDDEN inline constexpr auto scalar = tensor_<Name, T, 0>{};

template <Tensor T, int D>
SHEAF_INLINE constexpr auto extent(T t, dim_<D> d) {
  return t.extent(d);
}

}  // namespace sheaf::inline v0_1
