// Tensors out of tensors: concat, stack, reshape, flatten, unflatten, index_copy, put_along_axis. Shown by
// tests/numeric/familiar_joins.cpp.
#pragma once
#include <sheaf/dsl/sugar/segments.hpp>

namespace sheaf::inline v0_1 {

namespace detail {

// The first of the tensors within which the position along D falls, Before being what those before it hold.
template <int D, class Before, class T, class... Rest>
SHEAF_INLINE constexpr auto joined(Before before, T t, Rest... rest) {
  using from = std::remove_const_t<decltype(position<D>{} - before)>;
  const auto element = at(t, replaced<positions<T::rank>, D, from>{});
  if constexpr (sizeof...(Rest) == 0)
    return element;
  else
    return select(position<D>{} < before + extent_<T, D>{}, element, joined<D>(before + extent_<T, D>{}, rest...));
}
// The axes of a tensor that has one more at D.
template <int Rank, int D>
using axes_without = picked<positions<Rank + 1>, ((1u << (Rank + 1)) - 1) & ~(1u << D)>;

template <int D, int K, class T, class... Rest>
SHEAF_INLINE constexpr auto stacked(T t, Rest... rest) {
  const auto element = at(t, axes_without<T::rank, D>{});
  if constexpr (sizeof...(Rest) == 0)
    return element;
  else
    return select(position<D>{} == number_<K>{}, element, stacked<D, K + 1>(rest...));
}

template <fixed_string What, class First, class... T>
SHEAF_INLINE constexpr bool expect_one_rank() {
  constexpr bool one = ((T::rank == First::rank) && ... && true);
  expect<one, [] {
    sentence s = sentence{} << What.text << ": expected tensors of one rank, got " << First::rank;
    ((s << ", " << T::rank), ...);
    return s;
  }>();
  return one;
}

// The product of the extents from dimension From to before To.
template <class T, int From, int To>
SHEAF_INLINE constexpr auto volume() {
  if constexpr (From >= To)
    return number_<1>{};
  else if constexpr (From + 1 == To)
    return extent_<T, From>{};
  else
    return extent_<T, From>{} * volume<T, From + 1, To>();
}
constexpr std::int64_t product_of(const std::int64_t* extents, int first, int last) {
  std::int64_t n = 1;
  for (int d = first; d < last; ++d) n *= extents[d] == -1 ? 1 : extents[d];
  return n;
}

// The extents that a reshape asks for, of which one may be -1: what is left of the volume.
template <std::int64_t... Extents>
struct shape_ {
  static constexpr int rank = sizeof...(Extents);
  static constexpr std::int64_t extents[sizeof...(Extents)] = {Extents...};
  static constexpr std::int64_t known = product_of(extents, 0, rank);
  static constexpr int open = ((Extents == -1 ? 1 : 0) + ...);
  template <int D, class Volume>
  SHEAF_INLINE static constexpr auto size() {
    if constexpr (extents[D] == -1)
      return quotient(Volume{}, number_<known>{});
    else
      return number_<extents[D]>{};
  }
  // How far apart neighbours along D are.
  template <int D, class Volume>
  SHEAF_INLINE static constexpr auto stride() {
    if constexpr (D + 1 == rank)
      return number_<1>{};
    else
      return size<D + 1, Volume>() * stride<D + 1, Volume>();
  }
};

// E, in a call where the shape has room for just the elements of the tensor.
template <fixed_string What, class T, class Shape, class Volume, class E>
struct filled_ : expression_base {
  static constexpr built build(builder& b) {
    graph& g = b.g;
    const node_id n = b(Volume{}).id, known = integer(g, Shape::known);
    const node_id wrong = Shape::open == 1 ? make(g, op::not_equal, make(g, op::remainder, n, known), integer(g, 0))
                                           : make(g, op::not_equal, n, known);
    const sentence operation = sentence{} << What.text << " of " << called<T>();
    const sentence expected = sentence{} << (Shape::open == 1 ? "a multiple of " : "") << Shape::known << " elements";
    if (is_true(g, wrong)) b.fail() << operation.text << ": expected " << expected.text << ", got " << g[n].attribute;
    b.demand_not(wrong, demanded::extents, operation, expected, no_node, n);
    return b(E{});
  }
};

// Subscript D, counted from From, of the element whose place among dimensions From to before To is `place`.
template <class T, int From, int D, int To, class Place>
SHEAF_INLINE constexpr auto digit(Place place) {
  if constexpr (D + 1 == To && D == From)
    return place;
  else if constexpr (D == From)
    return quotient(place, volume<T, D + 1, To>());
  else if constexpr (D + 1 == To)
    return remainder(place, extent_<T, D>{});
  else
    return remainder(quotient(place, volume<T, D + 1, To>()), extent_<T, D>{});
}
template <class T, int From, int To, class Place, std::size_t... K>
SHEAF_INLINE constexpr auto digits(Place place, std::index_sequence<K...>) {
  return list<std::remove_const_t<decltype(digit<T, From, From + static_cast<int>(K), To>(place))>...>{};
}
template <class L, int From, class Seq>
struct shifted_positions;
template <class L, int From, std::size_t... K>
struct shifted_positions<L, From, std::index_sequence<K...>> {
  using type = list<position<From + static_cast<int>(K)>...>;
};
template <int From, int To>
using positions_between = typename shifted_positions<void, From, std::make_index_sequence<To - From>>::type;

// Dimensions From to before To of t replaced by those of the shape.
template <fixed_string What, int From, int To, class Shape, class T, std::size_t... K>
SHEAF_INLINE constexpr auto reshaped(T t, Shape, std::index_sequence<K...>) {
  using all = std::remove_const_t<decltype(volume<T, From, To>())>;
  constexpr int more = Shape::rank - (To - From);
  const auto place = (number_<0>{} + ... + (position<From + static_cast<int>(K)>{} *
                                            Shape::template stride<static_cast<int>(K), all>()));
  using inside = decltype(digits<T, From, To>(place, std::make_index_sequence<To - From>{}));
  const auto element = at(t, positions_between<0, From>{} + inside{} + positions_between<To + more, T::rank + more>{});
  using axes = decltype(positions_between<0, From>{} +
                        list<sized_<position<From + static_cast<int>(K)>,
                                    filled_<What, T, Shape, all,
                                            std::remove_const_t<decltype(Shape::template size<
                                                                         static_cast<int>(K), all>())>>>...>{} +
                        positions_between<To + more, T::rank + more>{});
  return named<What, T>(element, axes{});
}

}  // namespace detail

// concat(dim<0>, a, b, ...): one after the other along a dimension; the other extents agree.
template <int D, Tensor First, Tensor... T>
SHEAF_INLINE constexpr auto concat(dim_<D>, First first, T... t) {
  if constexpr (detail::expect_dimensions<"concat", First, D>() && detail::expect_one_rank<"concat", First, T...>()) {
    constexpr int d = detail::wrapped<First>(D);
    using size = std::remove_const_t<decltype((extent_<First, d>{} + ... + extent_<T, d>{}))>;
    return detail::named<"concat", First, T...>(
        detail::joined<d>(literal_<std::int64_t{0}>{}, first, t...),
        detail::replaced<detail::positions<First::rank>, d, sized_<detail::position<d>, size>>{});
  } else {
    return detail::refused{};
  }
}

// stack(dim<0>, a, b, ...): a new dimension, whose position says which tensor.
template <int D, Tensor First, Tensor... T>
SHEAF_INLINE constexpr auto stack(dim_<D>, First first, T... t) {
  static_assert(D >= -First::rank - 1 && D <= First::rank, "stack: the new dimension is out of range");
  if constexpr (detail::expect_one_rank<"stack", First, T...>()) {
    constexpr int d = D < 0 ? D + First::rank + 1 : D;
    using size = literal_<std::int64_t{1 + sizeof...(T)}>;
    return detail::named<"stack", First, T...>(
        detail::stacked<d, 0>(first, t...),
        detail::replaced<detail::positions<First::rank + 1>, d, sized_<detail::position<d>, size>>{});
  } else {
    return detail::refused{};
  }
}

// reshape<4, -1>(x): the same elements in row-major order; one extent may be -1, which takes what is left.
template <std::int64_t... Extents, Tensor T>
SHEAF_INLINE constexpr auto reshape(T t) {
  using shape = detail::shape_<Extents...>;
  static_assert(shape::open < 2 && ((Extents >= -1) && ...) && shape::known > 0,
                "reshape: extents are positive, but for one that may be -1");
  return detail::reshaped<"reshape", 0, T::rank>(t, shape{}, std::make_index_sequence<sizeof...(Extents)>{});
}
// unflatten<4, -1>(x, dim<1>): one dimension becomes several.
template <std::int64_t... Extents, Tensor T, int D>
SHEAF_INLINE constexpr auto unflatten(T t, dim_<D>) {
  using shape = detail::shape_<Extents...>;
  static_assert(shape::open < 2 && ((Extents >= -1) && ...) && shape::known > 0,
                "unflatten: extents are positive, but for one that may be -1");
  if constexpr (detail::expect_dimensions<"unflatten", T, D>()) {
    constexpr int d = detail::wrapped<T>(D);
    return detail::reshaped<"unflatten", d, d + 1>(t, shape{}, std::make_index_sequence<sizeof...(Extents)>{});
  } else {
    return detail::refused{};
  }
}
// flatten(x), flatten(x, dim<1>, dim<-1>): the dimensions from one to another become one.
template <Tensor T, int From, int To>
SHEAF_INLINE constexpr auto flatten(T t, dim_<From>, dim_<To>) {
  if constexpr (detail::expect_dimensions<"flatten", T, From>() && detail::expect_dimensions<"flatten", T, To>()) {
    constexpr int first = detail::wrapped<T>(From), last = detail::wrapped<T>(To) + 1;
    static_assert(first < last, "flatten: its first dimension stands after its last");
    return detail::reshaped<"flatten", first, last>(t, detail::shape_<-1>{}, std::make_index_sequence<1>{});
  } else {
    return detail::refused{};
  }
}
template <Tensor T>
SHEAF_INLINE constexpr auto flatten(T t) {
  return detail::reshaped<"flatten", 0, T::rank>(t, detail::shape_<-1>{}, std::make_index_sequence<1>{});
}

// x with those rows overwritten that the index names: of several that name one, the last counts.
template <Tensor X, Tensor I, Tensor S, int D>
SHEAF_INLINE constexpr auto index_copy(X x, I index, S source, dim_<D>) {
  if constexpr (detail::expect_dimensions<"index_copy", X, D>() &&
                detail::expect_rank_of<"index_copy: indices", 1, I>() &&
                detail::expect_index_rank<"index_copy", X, S>()) {
    constexpr int d = detail::wrapped<X>(D);
    constexpr detail::inner<0> k{};
    const auto last = max(k.where(index(k) == detail::position<d>{}), k);
    using from = detail::replaced<detail::positions<X::rank>, d, std::remove_const_t<decltype(last)>>;
    return detail::named<"index_copy", X>(
        select(last >= literal_<0>{}, detail::at(source, from{}), detail::element_of_all(x)),
        detail::positions<X::rank>{});
  } else {
    return detail::refused{};
  }
}
// x(index(i, j), j) = source(i, j) along dimension 0, and so on: of several at one place, the last counts.
template <Tensor X, Tensor I, Tensor S, int D>
SHEAF_INLINE constexpr auto put_along_axis(X x, I index, S source, dim_<D>) {
  if constexpr (detail::expect_dimensions<"put_along_axis", X, D>() &&
                detail::expect_index_rank<"put_along_axis", X, I>() &&
                detail::expect_index_rank<"put_along_axis", X, S>()) {
    constexpr int d = detail::wrapped<X>(D);
    constexpr detail::inner<0> k{};
    using here = detail::replaced<detail::positions<X::rank>, d, detail::inner<0>>;
    const auto last = max(k.where(detail::at(index, here{}) == detail::position<d>{}), k);
    using from = detail::replaced<detail::positions<X::rank>, d, std::remove_const_t<decltype(last)>>;
    return detail::named<"put_along_axis", X>(
        select(last >= literal_<0>{}, detail::at(source, from{}), detail::element_of_all(x)),
        detail::positions<X::rank>{});
  } else {
    return detail::refused{};
  }
}

}  // namespace sheaf::inline v0_1
