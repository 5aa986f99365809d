// Extremes with the positions they stand at: max_with_indices(x, dim<1>), cummax_with_indices(x, dim<0>),
// max_pool2d_with_indices<pool{.kernel = {2, 2}}>(x). Each is two definitions, `values` and `indices`; compile takes
// both at once. The derivative of a value goes to the element at its index, as in PyTorch. Shown by
// tests/numeric/positions.cpp.
#pragma once
#include <sheaf/dsl/sugar/scans.hpp>
#include <sheaf/dsl/sugar/windows.hpp>

namespace sheaf::inline v0_1 {

// const auto [top, where] = max_with_indices(x, dim<1>);
template <class Values, class Indices>
struct with_indices {
  using several = outputs_<Values, Indices>;
  Values values;
  Indices indices;
};

namespace detail {

template <class V, class I>
SHEAF_INLINE constexpr with_indices<V, I> both_of(V values, I indices) {
  return {values, indices};
}

// The last place up to here, or the first from here, that reaches an extreme.
template <bool Back, class T, int D, class E>
SHEAF_INLINE constexpr auto latest_of(E reaches) {
  constexpr auto s = inner<0>{};
  constexpr auto here = position<D>{};
  constexpr number_<1> one{};
  constexpr extent_<T, D> n{};
  if constexpr (Back)
    return min(s.in(here, n), select(reaches, s, n));
  else
    return max(s.in(number_<0>{}, here + one), select(reaches, s, -one));
}
// The latest of the largest so far: a running maximum over the positions that reach the running maximum.
template <fixed_string What, fixed_string Index, auto... O, class T, int D, class V>
SHEAF_INLINE constexpr auto with_latest(T t, dim_<D>, V running_extreme) {
  constexpr int d = wrapped<T>(D);
  constexpr number_<0> zero{};
  constexpr number_<1> one{};
  constexpr extent_<T, d> n{};
  using axes = replaced<positions<T::rank>, d, sized_<position<d>, extent_<T, d>>>;
  using there = replaced<positions<T::rank>, d, inner<0>>;
  const auto e = at(t, there{});
  const auto reaches = e == at(running_extreme, there{}) || e != e;  // NaN takes over, and each NaN after it
  const auto indices = named<Index, T>(latest_of<has_option<reversed_, O...>, T, d>(reaches), axes{});
  // Always inside, which the clamp lets the compiler see.
  const auto place = maximum(minimum(at(indices, positions<T::rank>{}), n - one), zero);
  const auto chosen = at(t, replaced<positions<T::rank>, d, std::remove_const_t<decltype(place)>>{});
  return both_of(named<What, T>(graft(at(running_extreme, positions<T::rank>{}), chosen), axes{}), indices);
}

// Where tap `flat` of a window falls along each dimension, and whether that is inside.
template <pool P, class T, int First, class Seq>
struct flat_window;
template <pool P, class T, int First, std::size_t... K>
struct flat_window<P, T, First, std::index_sequence<K...>> {
  static constexpr int dims = sizeof...(K);
  static constexpr std::int64_t taps_after(int k) {
    std::int64_t taps = 1;
    for (int j = k + 1; j < dims; ++j) taps *= P.kernel[j];
    return taps;
  }
  template <std::size_t J, class Flat>
  SHEAF_INLINE static constexpr auto place(Flat flat) {
    constexpr window w = window_of(P, static_cast<int>(J));
    const auto u = remainder(quotient(flat, number_<taps_after(static_cast<int>(J))>{}), number_<w.kernel>{});
    return position<First + static_cast<int>(J)>{} * number_<w.stride>{} - number_<w.padding>{} +
           u * number_<w.dilation>{};
  }
  template <class E, int D>
  SHEAF_INLINE static constexpr auto within(E e, extent_<T, D> n) {
    return number_<0>{} <= e && e < n;
  }
  template <class Flat>
  SHEAF_INLINE static constexpr auto inside(Flat flat) {
    return (within(place<K>(flat), extent_<T, First + static_cast<int>(K)>{}) && ...);
  }
  template <class Flat>
  SHEAF_INLINE static constexpr auto element(Flat flat) {
    using front = picked<positions<T::rank>, (1u << First) - 1>;
    return at(T{}, front{} + list<std::remove_const_t<decltype(place<K>(flat))>...>{});
  }
  // Row by row over the last dimensions.
  template <std::size_t J, class Flat, class Before>
  SHEAF_INLINE static constexpr auto row_major(Flat flat, Before before) {
    if constexpr (J == sizeof...(K))
      return before;
    else
      return row_major<J + 1>(flat, before * extent_<T, First + static_cast<int>(J)>{} + place<J>(flat));
  }
};

template <fixed_string What, pool P, int Dims, class T>
SHEAF_INLINE constexpr auto maximum_pool_with_indices(T t) {
  if constexpr (expect_rank_of_at_least<What, Dims, T>()) {
    using p = pooling_of<What, P, T, Dims>;
    if constexpr (p::fits) {
      using w = flat_window<P, T, T::rank - Dims, std::make_index_sequence<Dims>>;
      constexpr inner<7> v{};
      constexpr std::int64_t taps = w::taps_after(-1);
      const auto domain = v.in(number_<0>{}, number_<taps>{}).where(w::inside(v));
      const auto tap = argmax(domain, w::element(v));
      return both_of(
          named<What, T>(max<ties::first>(typename p::domain{}, at(t, typename p::subscripts{})), typename p::axes{}),
          named<"indices", T>(w::template row_major<0>(tap, number_<0>{}), typename p::axes{}));
    } else {
      return both_of(refused{}, refused{});
    }
  } else {
    return both_of(refused{}, refused{});
  }
}

}  // namespace detail

// The largest along a dimension (or of the whole tensor) and the first position it stands at; keepdim keeps the
// dimension.
template <auto... O, Tensor T, int... D>
SHEAF_INLINE constexpr auto max_with_indices(T t, dim_<D>... d) {
  return detail::both_of(max<ties::first, O...>(t, d...), argmax<O...>(t, d...));
}
template <auto... O, Tensor T, int... D>
SHEAF_INLINE constexpr auto min_with_indices(T t, dim_<D>... d) {
  return detail::both_of(min<ties::first, O...>(t, d...), argmin<O...>(t, d...));
}

// Running extremes and the latest position each stands at, with `reversed` from the end.
#define SHEAF_RUNNING_WITH_INDICES(name)                                                                 \
  template <auto... O, Tensor T, int D>                                                                  \
  SHEAF_INLINE constexpr auto name##_with_indices(T t, dim_<D> d) {                                      \
    static_assert(!detail::has_option<exclusive_, O...>, #name "_with_indices: its option is reversed"); \
    if constexpr (detail::expect_dimensions<#name, T, D>())                                              \
      return detail::with_latest<#name "_values", #name "_indices", O...>(t, d, name<O...>(t, d));       \
    else                                                                                                 \
      return detail::both_of(detail::refused{}, detail::refused{});                                    \
  }
SHEAF_RUNNING_WITH_INDICES(cummax)
SHEAF_RUNNING_WITH_INDICES(cummin)
#undef SHEAF_RUNNING_WITH_INDICES

// F.max_pool2d(..., return_indices=True): an index counts row by row over the dimensions that are pooled.
#define SHEAF_POOL_WITH_INDICES(Dims)                                           \
  template <pool P, Tensor T>                                                   \
  SHEAF_INLINE constexpr auto max_pool##Dims##d_with_indices(T t) {             \
    return detail::maximum_pool_with_indices<"max_pool" #Dims "d", P, Dims>(t); \
  }
SHEAF_POOL_WITH_INDICES(1)
SHEAF_POOL_WITH_INDICES(2)
SHEAF_POOL_WITH_INDICES(3)
#undef SHEAF_POOL_WITH_INDICES

}  // namespace sheaf::inline v0_1
