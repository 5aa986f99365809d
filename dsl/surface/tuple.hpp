// Several values together: the state of a fold of your own, see fold.hpp. They are taken apart again by get<0>(s), or
// within a function by `auto [count, mean] = s`.
#pragma once
#include <utility>

#include <sheaf/dsl/surface/expression.hpp>

namespace sheaf::inline v0_1 {

template <class... E>
struct tuple_ {
  static constexpr int size = static_cast<int>(sizeof...(E));
};

namespace detail {

template <int K, class First, class... Rest>
SHEAF_INLINE constexpr auto taken(tuple_<First, Rest...>) {
  if constexpr (K == 0)
    return First{};
  else
    return taken<K - 1>(tuple_<Rest...>{});
}

SHEAF_HIDDEN inline constexpr int widest_tuple = 16;

template <int Size>
SHEAF_INLINE constexpr void expect_size() {
  expect<(Size >= 2 && Size <= widest_tuple),
         [] { return sentence{} << "tuple: expected 2 to " << widest_tuple << " values, got " << Size; }>();
}

}  // namespace detail

// Value K of a tuple, from 0.
template <int K, class... E>
SHEAF_INLINE constexpr auto get(tuple_<E...> t) {
  constexpr bool inside = K >= 0 && K < static_cast<int>(sizeof...(E));
  expect<inside, [] {
    return detail::sentence{} << "get<" << K << ">: the tuple has " << static_cast<int>(sizeof...(E)) << " values";
  }>();
  if constexpr (inside)
    return detail::taken<K>(t);
  else
    return detail::refused{};
}

template <class... E>
SHEAF_INLINE constexpr auto tuple(E...) {
  detail::expect_size<static_cast<int>(sizeof...(E))>();
  if constexpr (detail::are_values<E...>)
    return tuple_<E...>{};
  else
    return tuple_<decltype(detail::refuse<E...>())>{};
}

}  // namespace sheaf::inline v0_1

template <class... E>
struct std::tuple_size<sheaf::tuple_<E...>> : std::integral_constant<std::size_t, sizeof...(E)> {};
template <std::size_t K, class... E>
struct std::tuple_element<K, sheaf::tuple_<E...>> {
  using type = decltype(sheaf::detail::taken<static_cast<int>(K)>(sheaf::tuple_<E...>{}));
};
