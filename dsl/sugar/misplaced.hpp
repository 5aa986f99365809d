// What is written where another thing belongs in a familiar function, and in a stream: sentences instead of a list of
// all functions of that name. Shown by tests/reject/familiar_number_for_a_dimension.cpp and its neighbours.
#pragma once
#include <sheaf/dsl/sugar/joins.hpp>
#include <sheaf/dsl/sugar/normalise.hpp>
#include <sheaf/dsl/sugar/reductions.hpp>
#include <sheaf/dsl/sugar/scans.hpp>

namespace sheaf::inline v0_1 {

namespace detail {

template <fixed_string What, class T>
SHEAF_INLINE constexpr auto number_for_a_dimension() {
  expect<std::is_void_v<T>, [] {
    return sentence{} << What.text << " of " << T::label.text << ": a dimension is dim<1>, not a number";
  }>();
  return refused_{};
}

template <class S>
concept Stream = requires(S& s) {
  s.rdbuf();
  s.flush();
};

}  // namespace detail

// sum(x, 1)
#define SHEAF_MISPLACED(name)                              \
  template <auto... O, Tensor T, Number N, Number... More> \
  SHEAF_INLINE constexpr auto name(T, N, More...) {        \
    return detail::number_for_a_dimension<#name, T>();     \
  }
SHEAF_MISPLACED(sum)
SHEAF_MISPLACED(mean)
SHEAF_MISPLACED(prod)
SHEAF_MISPLACED(max)
SHEAF_MISPLACED(min)
SHEAF_MISPLACED(logsumexp)
SHEAF_MISPLACED(any)
SHEAF_MISPLACED(all)
SHEAF_MISPLACED(argmax)
SHEAF_MISPLACED(argmin)
SHEAF_MISPLACED(var)
SHEAF_MISPLACED(stddev)
SHEAF_MISPLACED(softmax)
SHEAF_MISPLACED(log_softmax)
SHEAF_MISPLACED(cumsum)
#undef SHEAF_MISPLACED

// softmax(x)
#define SHEAF_OVER_NOTHING(name)                                                                               \
  template <auto... O, Tensor T>                                                                               \
  SHEAF_INLINE constexpr auto name(T) {                                                                        \
    expect<std::is_void_v<T>, [] {                                                                             \
      return detail::sentence{} << #name " of " << T::label.text << ": expected a dimension, as in " #name "(" \
                                << T::label.text << ", dim<0>)";                                               \
    }>();                                                                                                      \
    return detail::refused_{};                                                                                 \
  }
SHEAF_OVER_NOTHING(softmax)
SHEAF_OVER_NOTHING(log_softmax)
SHEAF_OVER_NOTHING(cumsum)
#undef SHEAF_OVER_NOTHING

template <auto... O, Tensor T, int D, int... More>
SHEAF_INLINE constexpr auto layer_norm(T, dim_<D>, dim_<More>...) {
  expect<std::is_void_v<T>, [] {
    return detail::sentence{} << "layer_norm of " << T::label.text
                              << ": it is over as many last dimensions as its weight has, and takes no dim";
  }>();
  return detail::refused_{};
}
template <Tensor T, class... More>
SHEAF_INLINE constexpr auto concat(T, More...) {
  expect<std::is_void_v<T>, [] {
    return detail::sentence{} << "concat: expected the dimension first, as in concat(dim<0>, a, b)";
  }>();
  return detail::refused_{};
}
template <Tensor T, class... More>
SHEAF_INLINE constexpr auto stack(T, More...) {
  expect<std::is_void_v<T>, [] {
    return detail::sentence{} << "stack: expected the dimension first, as in stack(dim<0>, a, b)";
  }>();
  return detail::refused_{};
}
template <Tensor T, Number N, Number... More>
SHEAF_INLINE constexpr auto reshape(T, N, More...) {
  expect<std::is_void_v<T>, [] {
    return detail::sentence{} << "reshape of " << T::label.text
                              << ": its extents are template arguments, as in reshape<3, -1>(x)";
  }>();
  return detail::refused_{};
}
// std::cout << y
template <detail::Stream S, class E>
  requires(Expression<E> || Tensor<E>)
S& operator<<(S& stream, E) {
  expect<std::is_void_v<E>, [] {
    return detail::sentence{} << "expression: it has no value before a call; print what compile(...) returns, called, "
                              << "or its text()";
  }>();
  return stream;
}

}  // namespace sheaf::inline v0_1
