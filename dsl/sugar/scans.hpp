// Running reductions: cumsum(x, dim<0>), cummax<reversed>(x, dim<-1>), cumsum<exclusive>(x, dim<0>). Each is a
// reduction over the part of the dimension before (or after) a place, which the planner sees to be a scan. Shown by
// tests/numeric/familiar_slices.cpp.
#pragma once
#include <sheaf/dsl/sugar/reductions.hpp>

namespace sheaf::inline v0_1 {

struct reversed_ {};
struct exclusive_ {};
// Options of a running reduction: from the last element to this one; without this one.
SHEAF_HIDDEN inline constexpr auto reversed = reversed_{};
SHEAF_HIDDEN inline constexpr auto exclusive = exclusive_{};

namespace detail {

template <class Option, auto... O>
constexpr bool has_option = (std::is_same_v<std::remove_const_t<decltype(O)>, Option> || ... || false);

template <fixed_string What, folding Kind, auto... O, class T, int D>
SHEAF_INLINE constexpr auto running(T t, dim_<D>) {
  static_assert(((std::is_same_v<std::remove_const_t<decltype(O)>, reversed_> ||
                  std::is_same_v<std::remove_const_t<decltype(O)>, exclusive_>)&&... &&
                 true),
                "running reduction: its options are reversed and exclusive");
  if constexpr (expect_dimensions<What, T, D>()) {
    constexpr int d = wrapped<T>(D);
    constexpr literal_<std::int64_t{0}> zero{};
    constexpr auto here = position<d>{};
    constexpr auto s = inner<0>{};
    constexpr literal_<std::int64_t{has_option<exclusive_, O...> ? 0 : 1}> own{};
    const auto e = at(t, replaced<positions<T::rank>, d, inner<0>>{});
    using axes = replaced<positions<T::rank>, d, sized_<position<d>, extent_<T, d>>>;
    if constexpr (has_option<reversed_, O...>) {
      const auto after = s.in(here + literal_<std::int64_t{1}>{} - own, extent_<T, d>{});
      return named<What, T>(reduce_<Kind, decltype(after), decltype(e)>{}, axes{});
    } else {
      const auto before = s.in(zero, here + own);
      return named<What, T>(reduce_<Kind, decltype(before), decltype(e)>{}, axes{});
    }
  } else {
    return refused{};
  }
}

}  // namespace detail

#define SHEAF_RUNNING(name, kind)                             \
  template <auto... O, Tensor T, int D>                       \
  SHEAF_INLINE constexpr auto name(T t, dim_<D> d) {          \
    return detail::running<#name, folding::kind, O...>(t, d); \
  }
SHEAF_RUNNING(cumsum, sum)
SHEAF_RUNNING(cumprod, prod)
SHEAF_RUNNING(cummax, max)
SHEAF_RUNNING(cummin, min)
SHEAF_RUNNING(logcumsumexp, logsumexp)
#undef SHEAF_RUNNING

}  // namespace sheaf::inline v0_1
