// How often each number stands in a tensor: bincount, histogram, and one_hot, which says where. Shown by
// tests/numeric/familiar_segments.cpp.
#pragma once
#include <sheaf/dsl/sugar/segments.hpp>

namespace sheaf::inline v0_1 {

// bincount<8>(ids), bincount<8>(ids, weights): how often, or with what weight, each of 0..7 stands there.
template <std::int64_t Bins, Tensor I, Tensor... W>
SHEAF_INLINE constexpr auto bincount(I ids, W... weight) {
  static_assert(Bins > 0, "bincount: expected at least one bin");
  static_assert(sizeof...(W) < 2, "bincount: expected ids and their weights");
  if constexpr (detail::expect_rank_of<"bincount", 1, I>() && detail::expect_integers<"bincount", I>()) {
    constexpr detail::inner<0> k{};
    using axes = detail::list<sized_<detail::position<0>, literal_<Bins>>>;
    const auto here = k.where(ids(k) == detail::position<0>{});
    if constexpr (sizeof...(W) == 0)
      return detail::named<"bincount", I>(sum(here, literal_<std::int64_t{1}>{}), axes{});
    else
      return detail::named<"bincount", I>(sum(here, (weight(k), ...)), axes{});
  } else {
    return detail::refused{};
  }
}
// histogram<10>(x, 0_c, 1_c): counts of equal bins from low to high, which belongs to the last; what lies outside is
// left out.
template <std::int64_t Bins, Tensor X, Expression Low, Expression High>
SHEAF_INLINE constexpr auto histogram(X x, Low low, High high) {
  static_assert(Bins > 0, "histogram: expected at least one bin");
  if constexpr (detail::expect_rank_of_at_least<"histogram", 1, X>()) {
    constexpr detail::inner<0> b{};
    const auto e = detail::element_of_all(x);
    const auto bin = minimum(floor((e - low) / (high - low) * literal_<std::int64_t{Bins}>{}), literal_<Bins - 1>{});
    const auto counted = low <= e && e <= high && cast<std::int64_t>(bin) == b;
    return detail::named<"histogram", X>(count(detail::over_all(detail::positions<X::rank>{}), counted),
                                         detail::list<sized_<detail::inner<0>, literal_<Bins>>>{});
  } else {
    return detail::refused{};
  }
}
// [n] to [n, classes]: true where the id is the class.
template <std::int64_t Classes, Tensor I>
SHEAF_INLINE constexpr auto one_hot(I ids) {
  static_assert(Classes > 0, "one_hot: expected at least one class");
  if constexpr (detail::expect_integers<"one_hot", I>())
    return detail::named<"one_hot", I>(
        detail::element_of_all(ids) == detail::position<I::rank>{},
        detail::positions<I::rank>{} + detail::list<sized_<detail::position<I::rank>, literal_<Classes>>>{});
  else
    return detail::refused{};
}

}  // namespace sheaf::inline v0_1
