// Anonymous definitions: what the familiar layer makes of tensors. mean(x, dim<1>) is a definition with automatic
// axes, named i0, i1, ... after the positions they stand at, and an automatic name, mean_x. It is a type, so equal
// sugar on equal operands is one definition; the builder numbers different ones of one name. Shown by
// tests/static/sugar.cpp.
#pragma once
#include <utility>

#include <sheaf/dsl/surface/gradient.hpp>

namespace sheaf::inline v0_1 {

template <fixed_string Name, SHEAF_BODY Body, class... Axes>
struct anonymous_ : subscripts<anonymous_<Name, Body, Axes...>> {
  using subscripts<anonymous_>::operator=;
  static constexpr auto label = Name;
  static constexpr int rank = sizeof...(Axes);
  static constexpr built node(builder& b) {
    return {b.tensor_of(&type_tag<anonymous_>, [](builder& c) { return make_node(c); })};
  }

 private:
  static constexpr node_id make_node(builder& b) {
    const bound_axis axes[rank + 1] = {Axes::bind(b)...};
    return b.definition(b.name(Name.text, Name.length()), b(detail::expression_in<Body>{}).id, axes, rank, true);
  }
};

// An axis from 0 to an extent that no tensor gives it: an expression of extents and numbers.
template <class Axis, class Extent>
struct sized_ : index_base {
  static constexpr auto label = Axis::label;
  static constexpr bound_axis bind(builder& b) {
    return {b(Axis{}).id, integer(b.g, 0), cast_to(b.g, element::i64, b(Extent{}).id)};
  }
};

namespace detail {

template <fixed_string Name, SHEAF_BODY Body, class... Axes>
inline constexpr bool has_automatic_name<anonymous_<Name, Body, Axes...>> = true;

// ---- lists of axes and subscripts

template <class... A>
struct list {};
template <class... A, class... B>
SHEAF_INLINE constexpr list<A..., B...> operator+(list<A...>, list<B...>) {
  return {};
}

constexpr auto lettered(char letter, int d) {
  fixed_string<3> s;
  s.text[0] = letter;
  s.text[1] = static_cast<char>('0' + d);
  return s;
}
// The automatic axis at position d; a second and third one for what runs within it.
template <int D>
using position = axis_<lettered('i', D)>;
template <int D>
using inner = axis_<lettered('u', D)>;
// The axis of a dimension of extent 1.
template <int D>
using single = axis_<lettered('o', D), 1>;

template <class Seq>
struct positions_of;
template <std::size_t... I>
struct positions_of<std::index_sequence<I...>> {
  using type = list<position<static_cast<int>(I)>...>;
};
template <int Rank>
using positions = typename positions_of<std::make_index_sequence<Rank>>::type;

// The list with what stands at D replaced; D may be past its end, for nothing.
template <class L, int D, class New, class Seq>
struct put_at;
template <class... A, int D, class New, std::size_t... I>
struct put_at<list<A...>, D, New, std::index_sequence<I...>> {
  using type = list<std::conditional_t<static_cast<int>(I) == D, New, A>...>;
};
template <class L>
constexpr int length = 0;
template <class... A>
constexpr int length<list<A...>> = sizeof...(A);
template <class L, int D, class New>
using replaced = typename put_at<L, D, New, std::make_index_sequence<length<L>>>::type;

// Those elements whose place the set of bits has.
template <class L, unsigned Set, class Seq>
struct pick_at;
template <class... A, unsigned Set, std::size_t... I>
struct pick_at<list<A...>, Set, std::index_sequence<I...>> {
  using type = decltype((list<>{} + ... + std::conditional_t<(Set >> I & 1u) != 0, list<A>, list<>>{}));
};
template <class L, unsigned Set>
using picked = typename pick_at<L, Set, std::make_index_sequence<length<L>>>::type;
template <class L, int D>
struct nth;
template <class First, class... Rest, int D>
struct nth<list<First, Rest...>, D> : nth<list<Rest...>, D - 1> {};
template <class First, class... Rest>
struct nth<list<First, Rest...>, 0> {
  using type = First;
};

template <class T, class... S>
SHEAF_INLINE constexpr auto at(T t, list<S...>) {
  return t(S{}...);
}
template <class... I>
SHEAF_INLINE constexpr auto over_all(list<I...>) {
  return over_<I...>{};
}
template <class I>
SHEAF_INLINE constexpr auto over_all(list<I>) {
  return I{};
}

// ---- names

template <fixed_string What, class... T>
constexpr auto automatic_name() {
  constexpr auto make = [] {
    sentence s;
    s << What.text;
    ((s << "_" << T::label.text), ...);
    if (s.size > 60) s.text[s.size = 60] = 0;  // names of names of names
    return s;
  };
  return fixed<make>();
}

template <fixed_string Name, class E, class... Axes>
SHEAF_INLINE constexpr auto anonymous(E, list<Axes...>) {
  return anonymous_<Name, SHEAF_BODY_OF(E), Axes...>{};
}
// named<"mean", operands...>(expression, axes): the definition mean_x.
template <fixed_string What, class... T, class E, class Axes>
SHEAF_INLINE constexpr auto named(E e, Axes axes) {
  return anonymous<automatic_name<What, T...>()>(e, axes);
}

// ---- positions among dimensions

template <class T>
constexpr int wrapped(int d) {
  return d < 0 ? d + T::rank : d;
}
// A set of dimensions as bits; all of them where none is named.
template <class T, int... D>
constexpr unsigned dimensions() {
  if constexpr (sizeof...(D) == 0)
    return (1u << T::rank) - 1;
  else
    return ((wrapped<T>(D) >= 0 && wrapped<T>(D) < T::rank ? 1u << wrapped<T>(D) : 0u) | ...);
}
constexpr int size_of(unsigned set) {
  int n = 0;
  for (; set != 0; set &= set - 1) ++n;
  return n;
}
template <fixed_string What, class T, int D>
SHEAF_INLINE constexpr void expect_dimension() {
  expect<(wrapped<T>(D) >= 0 && wrapped<T>(D) < T::rank), [] {
    return sentence{} << What.text << " of " << called<T>() << ": dimension " << D << " is out of range, expected "
                      << -T::rank << " to " << T::rank - 1;
  }>();
}
// Whether the dimensions are the tensor's and none stands twice; a sentence says where not.
template <fixed_string What, class T, int... D>
SHEAF_INLINE constexpr bool expect_dimensions() {
  (expect_dimension<What, T, D>(), ...);
  constexpr bool inside = ((wrapped<T>(D) >= 0 && wrapped<T>(D) < T::rank) && ... && true);
  constexpr bool distinct =
      !inside || sizeof...(D) == 0 || size_of(dimensions<T, D...>()) == static_cast<int>(sizeof...(D));
  expect<distinct,
         [] { return sentence{} << What.text << " of " << called<T>() << ": a dimension is named twice"; }>();
  return inside && distinct;
}
template <fixed_string What, int Least, class T>
SHEAF_INLINE constexpr bool expect_rank_of_at_least() {
  expect<(T::rank >= Least), [] {
    return sentence{} << What.text << " of " << called<T>() << ": its rank is " << T::rank << ", expected at least "
                      << Least;
  }>();
  return T::rank >= Least;
}
template <fixed_string What, int Rank, class T>
SHEAF_INLINE constexpr bool expect_rank_of() {
  expect<(T::rank == Rank), [] {
    return sentence{} << What.text << ": " << called<T>() << " has rank " << T::rank << ", expected " << Rank;
  }>();
  return T::rank == Rank;
}

// ---- extents

// The extent of a dimension where the type tells it, else dynamic.
template <class Axis>
constexpr std::int64_t declared_extent = dynamic;
template <fixed_string Name, std::int64_t Size>
constexpr std::int64_t declared_extent<axis_<Name, Size>> = Size;
template <class Axis, auto Value>
constexpr std::int64_t declared_extent<sized_<Axis, literal_<Value>>> = Value;
template <class T>
constexpr std::int64_t static_extent(T, int) {
  return dynamic;
}
template <fixed_string Name, class T, int Rank, std::int64_t... Extents>
requires(sizeof...(Extents) > 0) constexpr std::int64_t static_extent(tensor_<Name, T, Rank, Extents...>, int d) {
  constexpr std::int64_t extents[] = {Extents...};
  return extents[d];
}
template <fixed_string Name, SHEAF_BODY Body, class... Axes>
requires(sizeof...(Axes) > 0) constexpr std::int64_t static_extent(anonymous_<Name, Body, Axes...>, int d) {
  constexpr std::int64_t extents[] = {declared_extent<Axes>...};
  return extents[d];
}

// E, in a call whose tensor has at least so many elements in dimension D; the compiler says so where it knows.
template <fixed_string What, class T, int D, std::int64_t Least, class E>
struct provided_ : expression_base {
  static constexpr built build(builder& b) {
    graph& g = b.g;
    const node_id n = extent(g, T::node(b).id, D), wrong = make(g, op::less, n, integer(g, Least));
    const sentence operation = sentence{} << What.text << " of " << called<T>() << ", dimension " << D;
    const sentence expected = sentence{} << "an extent of at least " << Least;
    if (is_true(g, wrong)) b.fail() << operation.text << ": expected " << expected.text << ", got " << g[n].attribute;
    b.demand_not(wrong, demanded::extents, operation, expected, no_node, n);
    return b(E{});
  }
};

// ---- half floats count in f32, and what comes out has the operand's type again

template <class E>
struct widened_ : expression_base {
  static constexpr built build(builder& b) { return {detail::widened(b.g, b(E{}).id), false}; }
};
template <class E, class Model>
struct narrowed_ : expression_base {
  static constexpr built build(builder& b) {
    const node_id e = b(E{}).id;
    const element type = b.g.type(b(Model{}).id);
    return {is_half(type) ? cast_to(b.g, type, e) : e, false};
  }
};
template <class E>
SHEAF_INLINE constexpr auto wide(E) {
  return widened_<E>{};
}
template <class Model, class E>
SHEAF_INLINE constexpr auto narrow(E, Model) {
  return narrowed_<E, Model>{};
}

}  // namespace detail

}  // namespace sheaf::inline v0_1
