// Softmax and the normalisations. A normalised dimension runs in a definition of its statistics and again in the
// result; the planner sees that they share rows. Half floats count in f32 and are rounded once. Shown by
// tests/numeric/familiar_normalise.cpp.
#pragma once
#include <sheaf/dsl/sugar/reductions.hpp>

namespace sheaf::inline v0_1 {

namespace detail {

// exp(x - max) is of no consequence in the gradient: softmax does not change when all its arguments do by the same.
template <class T, unsigned Set>
SHEAF_INLINE constexpr auto below_top(T t) {
  const auto top = folded<"max", folding::max, T, Set, false>(wide(element_of_all(t)));
  return wide(element_of_all(t)) - stop_gradient(at(top, remaining<T, Set>{}));
}
template <class T, unsigned Set>
SHEAF_INLINE constexpr auto sum_of_exp(T t) {
  const auto total = folded<"sum_of_exp", folding::sum, T, Set, false>(exp(below_top<T, Set>(t)));
  return at(total, remaining<T, Set>{});
}

// (x - mean) / sqrt(var + eps) over a set of dimensions, elementwise and wide.
template <class T, unsigned Set, double Eps>
SHEAF_INLINE constexpr auto standardised(T t) {
  const auto mean = wide_mean<T, Set>(t);
  const auto variance = named<"variance", T>(squared_deviations<T, Set>(t) / count_of<T, Set>(), remaining<T, Set>{});
  return (wide(element_of_all(t)) - at(mean, remaining<T, Set>{})) *
         rsqrt(at(variance, remaining<T, Set>{}) + literal_<Eps>{});
}

constexpr unsigned last_dimensions(int rank, int n) { return ((1u << n) - 1) << (rank - n); }
template <class T, int Last>
using trailing = picked<positions<T::rank>, last_dimensions(T::rank, Last)>;

template <fixed_string What, class T, class W>
SHEAF_INLINE constexpr bool expect_trailing() {
  expect<(W::rank >= 1 && W::rank <= T::rank), [] {
    return sentence{} << What.text << " of " << called<T>() << ": " << called<W>() << " has rank " << W::rank
                      << ", expected 1 to " << T::rank;
  }>();
  return W::rank >= 1 && W::rank <= T::rank;
}

template <class T, double Eps, int Last>
SHEAF_INLINE constexpr auto by_root_mean_square(T t) {
  constexpr unsigned set = last_dimensions(T::rank, Last);
  const auto e = wide(element_of_all(t));
  const auto square = folded<"mean_square", folding::mean, T, set, false>(e * e);
  return e * rsqrt(at(square, remaining<T, set>{}) + literal_<Eps>{});
}

template <class E>
SHEAF_INLINE constexpr auto scaled_by_channel(E e) {
  return e;
}
template <class E, class W>
SHEAF_INLINE constexpr auto scaled_by_channel(E e, W w) {
  return e * w(position<1>{});
}
template <class E, class W, class B>
SHEAF_INLINE constexpr auto scaled_by_channel(E e, W w, B b) {
  return e * w(position<1>{}) + b(position<1>{});
}

// The standard form of a group of channels: its statistics by sample and group.
template <class T, int Groups, double Eps, class... Spatial>
SHEAF_INLINE constexpr auto by_group(T t, list<Spatial...>) {
  constexpr auto u = inner<1>{};
  constexpr auto n = position<0>{};
  constexpr auto g = position<1>{};
  constexpr literal_<std::int64_t{0}> zero{};
  constexpr literal_<std::int64_t{Groups}> groups{};
  const auto width = quotient(extent_<T, 1>{}, groups);
  using axes = list<position<0>, sized_<position<1>, literal_<std::int64_t{Groups}>>>;
  const auto inside = over(u.in(zero, width), Spatial{}...);
  const auto e = wide(t(n, g * width + u, Spatial{}...));
  const auto mean_of = named<"group_mean", T>(mean(inside, e), axes{});
  const auto apart = e - mean_of(n, g);
  const auto variance = named<"group_variance", T>(mean(inside, apart * apart), axes{});
  const auto group = quotient(g, width);
  return (wide(t(n, g, Spatial{}...)) - mean_of(n, group)) * rsqrt(variance(n, group) + literal_<Eps>{});
}

}  // namespace detail

// exp(x) / sum(exp(x)) along a dimension.
template <Tensor T, int D>
SHEAF_INLINE constexpr auto softmax(T t, dim_<D>) {
  if constexpr (detail::expect_dimensions<"softmax", T, D>()) {
    constexpr unsigned set = detail::dimensions<T, D>();
    return detail::named<"softmax", T>(
        detail::narrow(exp(detail::below_top<T, set>(t)) / detail::sum_of_exp<T, set>(t), detail::element_of_all(t)),
        detail::positions<T::rank>{});
  } else {
    return detail::refused{};
  }
}
template <Tensor T, int D>
SHEAF_INLINE constexpr auto log_softmax(T t, dim_<D>) {
  if constexpr (detail::expect_dimensions<"log_softmax", T, D>()) {
    constexpr unsigned set = detail::dimensions<T, D>();
    return detail::named<"log_softmax", T>(
        detail::narrow(detail::below_top<T, set>(t) - log(detail::sum_of_exp<T, set>(t)), detail::element_of_all(t)),
        detail::positions<T::rank>{});
  } else {
    return detail::refused{};
  }
}

// layer_norm(x), layer_norm<1e-6>(x, weight, bias): over the last dimension, or the last ones, as many as the weight
// has.
template <double Eps = 1e-5, Tensor T>
SHEAF_INLINE constexpr auto layer_norm(T t) {
  if constexpr (detail::expect_rank_of_at_least<"layer_norm", 1, T>())
    return detail::named<"layer_norm", T>(
        detail::narrow(detail::standardised<T, detail::last_dimensions(T::rank, 1), Eps>(t), detail::element_of_all(t)),
        detail::positions<T::rank>{});
  else
    return detail::refused{};
}
template <double Eps = 1e-5, Tensor T, Tensor W, Tensor... B>
SHEAF_INLINE constexpr auto layer_norm(T t, W w, B... b) {
  static_assert(sizeof...(B) < 2, "layer_norm: expected a tensor, a weight and a bias");
  if constexpr (detail::expect_trailing<"layer_norm", T, W>() &&
                (detail::expect_rank_of<"layer_norm: bias", W::rank, B>() && ... && true)) {
    using last = detail::trailing<T, W::rank>;
    const auto form =
        detail::standardised<T, detail::last_dimensions(T::rank, W::rank), Eps>(t) * detail::at(w, last{});
    return detail::named<"layer_norm", T>(
        detail::narrow((form + ... + detail::at(b, last{})), detail::element_of_all(t)), detail::positions<T::rank>{});
  } else {
    return detail::refused{};
  }
}

// x / sqrt(mean(x^2) + eps) over the last dimension, or the last ones, as many as the weight has.
template <double Eps = 1e-6, Tensor T>
SHEAF_INLINE constexpr auto rms_norm(T t) {
  if constexpr (detail::expect_rank_of_at_least<"rms_norm", 1, T>())
    return detail::named<"rms_norm", T>(
        detail::narrow(detail::by_root_mean_square<T, Eps, 1>(t), detail::element_of_all(t)),
        detail::positions<T::rank>{});
  else
    return detail::refused{};
}
template <double Eps = 1e-6, Tensor T, Tensor W>
SHEAF_INLINE constexpr auto rms_norm(T t, W w) {
  if constexpr (detail::expect_trailing<"rms_norm", T, W>())
    return detail::named<"rms_norm", T>(
        detail::narrow(detail::by_root_mean_square<T, Eps, W::rank>(t) * detail::at(w, detail::trailing<T, W::rank>{}),
                       detail::element_of_all(t)),
        detail::positions<T::rank>{});
  else
    return detail::refused{};
}

// group_norm<groups>(x), group_norm<groups, eps>(x, weight, bias): x is [N, C, ...], statistics for each sample and
// each C / groups channels. batch_norm: statistics for each channel, over all else (training mode; running statistics
// are the caller's).
template <int Groups, double Eps = 1e-5, Tensor T, Tensor... W>
SHEAF_INLINE constexpr auto group_norm(T t, W... w) {
  static_assert(sizeof...(W) < 3, "group_norm: expected a tensor, a weight and a bias");
  static_assert(Groups > 0, "group_norm: expected at least one group");
  if constexpr (detail::expect_rank_of_at_least<"group_norm", 2, T>()) {
    constexpr std::int64_t channels = detail::static_extent(T{}, 1);
    expect<(channels < 0 || channels % Groups == 0), [] {
      return detail::sentence{} << "group_norm of " << detail::called<T>() << ": " << channels
                                << " channels do not divide into " << Groups << " groups";
    }>();
    using spatial = detail::picked<detail::positions<T::rank>, ((1u << T::rank) - 1) & ~3u>;
    return detail::named<"group_norm", T>(
        detail::narrow(detail::scaled_by_channel(detail::by_group<T, Groups, Eps>(t, spatial{}), w...),
                       detail::element_of_all(t)),
        detail::positions<T::rank>{});
  } else {
    return detail::refused{};
  }
}
template <double Eps = 1e-5, Tensor T, Tensor... W>
SHEAF_INLINE constexpr auto batch_norm(T t, W... w) {
  static_assert(sizeof...(W) < 3, "batch_norm: expected a tensor, a weight and a bias");
  if constexpr (detail::expect_rank_of_at_least<"batch_norm", 2, T>())
    return detail::named<"batch_norm", T>(
        detail::narrow(detail::scaled_by_channel(detail::standardised<T, ((1u << T::rank) - 1) & ~2u, Eps>(t), w...),
                       detail::element_of_all(t)),
        detail::positions<T::rank>{});
  else
    return detail::refused{};
}

}  // namespace sheaf::inline v0_1
