// Reductions by position: sum(x, dim<1>), mean<keepdim>(x, dim<0>, dim<-1>), norm<2>(x). Without dimensions, over the
// whole tensor. Each is the core's reduction over automatic axes. Shown by tests/numeric/familiar_reductions.cpp.
#pragma once
#include <sheaf/dsl/sugar/anonymous.hpp>

namespace sheaf::inline v0_1 {

struct keepdim_ {};
// An option: a reduced dimension stays, with extent 1.
SHEAF_HIDDEN inline constexpr auto keepdim = keepdim_{};

template <auto C>
struct correction_ {
  static constexpr auto value = C;
};
// An option of var and stddev: they divide by the number of elements less this; 1 where it isn't given, as in PyTorch.
template <auto C>
SHEAF_HIDDEN inline constexpr auto correction = correction_<C>{};

SHEAF_HIDDEN inline constexpr double infinity = math::infinity;

namespace detail {

template <class>
constexpr bool is_correction = false;
template <auto C>
constexpr bool is_correction<correction_<C>> = true;

template <auto... O>
constexpr bool keeps = (std::is_same_v<std::remove_const_t<decltype(O)>, keepdim_> || ... || false);
// Those of the options that are policies of the core's reductions.
template <auto... P>
struct policy_list {};
template <auto... P, auto... Q>
SHEAF_INLINE constexpr policy_list<P..., Q...> operator+(policy_list<P...>, policy_list<Q...>) {
  return {};
}
template <auto O>
constexpr bool is_policy = Policy<std::remove_const_t<decltype(O)>>;
template <auto... O>
using policies_among =
    decltype((policy_list<>{} + ... + std::conditional_t<is_policy<O>, policy_list<O>, policy_list<>>{}));
template <folding Kind, auto... P>
SHEAF_INLINE constexpr bool expect_listed(policy_list<P...>) {
  if constexpr (sizeof...(P) > 0)
    return expect_policies<Kind, std::remove_const_t<decltype(P)>...>();
  else
    return true;
}

template <auto... O>
SHEAF_INLINE constexpr void keepdim_and_policies() {
  static_assert(((std::is_same_v<std::remove_const_t<decltype(O)>, keepdim_> || is_policy<O>)&&... && true),
                "reduction: its options are keepdim and policies");
}
template <auto... O>
SHEAF_INLINE constexpr void only_keepdim() {
  static_assert((std::is_same_v<std::remove_const_t<decltype(O)>, keepdim_> && ... && true),
                "reduction: its one option is keepdim");
}

template <class T, unsigned Set, bool Keep, class Seq = std::make_index_sequence<T::rank>>
struct result_axes;
template <class T, unsigned Set, bool Keep, std::size_t... I>
struct result_axes<T, Set, Keep, std::index_sequence<I...>> {
  static constexpr bool reduced(std::size_t i) { return (Set >> i & 1u) != 0; }
  using type = decltype((list<>{} + ... +
                         std::conditional_t<!reduced(I), list<position<static_cast<int>(I)>>,
                                            std::conditional_t<Keep, list<single<static_cast<int>(I)>>, list<>>>{}));
};
template <class T, unsigned Set, bool Keep = false>
using remaining = typename result_axes<T, Set, Keep>::type;

// The element at the automatic axes, and a fold of an expression over those of a set.
template <class T>
SHEAF_INLINE constexpr auto element_of_all(T t) {
  return at(t, positions<T::rank>{});
}
template <folding Kind, class T, unsigned Set, class E>
SHEAF_INLINE constexpr auto fold(E e) {
  if constexpr (Set == 0)
    return e;
  else
    return reduce_<Kind, decltype(over_all(picked<positions<T::rank>, Set>{})), E>{};
}
template <folding Kind, class T, unsigned Set, class E, auto... P>
SHEAF_INLINE constexpr auto fold_by(E e, policy_list<P...>) {
  if constexpr (Set == 0)
    return e;
  else
    return reduce_<Kind, decltype(over_all(picked<positions<T::rank>, Set>{})), E, P...>{};
}
template <fixed_string What, folding Kind, class T, unsigned Set, bool Keep, class E>
SHEAF_INLINE constexpr auto folded(E e) {
  return named<What, T>(fold<Kind, T, Set>(e), remaining<T, Set, Keep>{});
}

// How many elements a set of dimensions has.
template <class T, unsigned Set, int D = 0>
SHEAF_INLINE constexpr auto count_of() {
  if constexpr (D == T::rank)
    return literal_<std::int64_t{1}>{};
  else if constexpr ((Set >> D & 1u) != 0)
    return extent_<T, D>{} * count_of<T, Set, D + 1>();
  else
    return count_of<T, Set, D + 1>();
}

// The position along one dimension; of several, and of the whole tensor, counted row by row.
template <fixed_string What, folding Kind, class T, auto... O, int... D>
SHEAF_INLINE constexpr auto arg_fold(T t, dim_<D>...) {
  keepdim_and_policies<O...>();
  if constexpr (expect_dimensions<What, T, D...>() && expect_listed<Kind>(policies_among<O...>{})) {
    constexpr unsigned set = dimensions<T, D...>();
    if constexpr (set == 0)
      return named<What, T>(literal_<std::int64_t{0}>{}, list<>{});
    else
      return named<What, T>(fold_by<Kind, T, set>(element_of_all(t), policies_among<O...>{}),
                            remaining<T, set, keeps<O...>>{});
  } else {
    return refused{};
  }
}

// The sum of squared differences from the mean, and the mean itself, in f32 for half floats.
template <class T, unsigned Set>
SHEAF_INLINE constexpr auto wide_mean(T t) {
  return folded<"mean", folding::mean, T, Set, false>(wide(element_of_all(t)));
}
template <class T, unsigned Set>
SHEAF_INLINE constexpr auto squared_deviations(T t) {
  const auto apart = wide(element_of_all(t)) - at(wide_mean<T, Set>(t), remaining<T, Set>{});
  return fold<folding::sum, T, Set>(apart * apart);
}
template <auto... O>
SHEAF_INLINE constexpr auto correction_among() {
  constexpr int given = (0 + ... + (is_correction<std::remove_const_t<decltype(O)>> ? 1 : 0));
  static_assert(given < 2, "var: the correction is given twice");
  if constexpr (given == 0)
    return correction_<1>{};
  else
    return (list<>{} + ... +
            std::conditional_t<is_correction<std::remove_const_t<decltype(O)>>, list<std::remove_const_t<decltype(O)>>,
                               list<>>{});
}
template <class C>
SHEAF_INLINE constexpr auto only(C c) {
  return c;
}
template <class C>
SHEAF_INLINE constexpr auto only(list<C>) {
  return C{};
}
template <class T, unsigned Set, auto... O>
SHEAF_INLINE constexpr auto variance(T t) {
  constexpr auto less = literal_<decltype(only(correction_among<O...>()))::value>{};
  return squared_deviations<T, Set>(t) / maximum(count_of<T, Set>() - less, literal_<0>{});
}

// The square root with gradient 0 at 0, as PyTorch's norm has it.
template <class E>
SHEAF_INLINE constexpr auto flat_root(E e) {
  return select(e != literal_<0>{}, sqrt(e), literal_<0>{});
}

template <auto P, class T, unsigned Set, class E>
SHEAF_INLINE constexpr auto norm_of(E e) {
  if constexpr (P == 0)
    return fold<folding::count, T, Set>(e);
  else if constexpr (P == 1)
    return fold<folding::sum, T, Set>(abs(e));
  else if constexpr (P == 2)
    return flat_root(fold<folding::sum, T, Set>(e * e));
  else if constexpr (P == infinity)
    return fold<folding::max, T, Set>(abs(e));
  else if constexpr (P == -infinity)
    return fold<folding::min, T, Set>(abs(e));
  else {
    const auto total = fold<folding::sum, T, Set>(pow(abs(e), literal_<P>{}));
    return select(total != literal_<0>{}, pow(total, literal_<1.0 / P>{}), literal_<0>{});
  }
}

}  // namespace detail

#define SHEAF_BY_DIMENSION(name)                                                                             \
  template <auto... O, Tensor T, int... D>                                                                   \
  SHEAF_INLINE constexpr auto name(T t, dim_<D>...) {                                                        \
    detail::keepdim_and_policies<O...>();                                                                    \
    if constexpr (detail::expect_dimensions<#name, T, D...>() &&                                             \
                  detail::expect_listed<folding::name>(detail::policies_among<O...>{})) {                    \
      constexpr unsigned set = detail::dimensions<T, D...>();                                                \
      return detail::named<#name, T>(                                                                        \
          detail::fold_by<folding::name, T, set>(detail::element_of_all(t), detail::policies_among<O...>{}), \
          detail::remaining<T, set, detail::keeps<O...>>{});                                                 \
    } else {                                                                                                 \
      return detail::refused{};                                                                             \
    }                                                                                                        \
  }
SHEAF_BY_DIMENSION(sum)
SHEAF_BY_DIMENSION(mean)
SHEAF_BY_DIMENSION(prod)
SHEAF_BY_DIMENSION(max)
SHEAF_BY_DIMENSION(min)
SHEAF_BY_DIMENSION(logsumexp)
#undef SHEAF_BY_DIMENSION

// any, all: of numbers, whether they differ from 0.
#define SHEAF_BY_TRUTH(name)                                                                              \
  template <auto... O, Tensor T, int... D>                                                                \
  SHEAF_INLINE constexpr auto name(T t, dim_<D>...) {                                                     \
    detail::only_keepdim<O...>();                                                                         \
    if constexpr (detail::expect_dimensions<#name, T, D...>())                                            \
      return detail::folded<#name, folding::name, T, detail::dimensions<T, D...>(), detail::keeps<O...>>( \
          !!detail::element_of_all(t));                                                                   \
    else                                                                                                  \
      return detail::refused{};                                                                          \
  }
SHEAF_BY_TRUTH(any)
SHEAF_BY_TRUTH(all)
#undef SHEAF_BY_TRUTH

template <auto... O, Tensor T, int... D>
SHEAF_INLINE constexpr auto count_nonzero(T t, dim_<D>...) {
  detail::only_keepdim<O...>();
  if constexpr (detail::expect_dimensions<"count_nonzero", T, D...>())
    return detail::folded<"count_nonzero", folding::count, T, detail::dimensions<T, D...>(), detail::keeps<O...>>(
        detail::element_of_all(t));
  else
    return detail::refused{};
}

// The position of the largest along one dimension; of several and of the whole tensor, counted row by row. With
// `ties::last` the last of equals.
template <auto... O, Tensor T, int... D>
SHEAF_INLINE constexpr auto argmax(T t, dim_<D>... d) {
  return detail::arg_fold<"argmax", folding::argmax, T, O...>(t, d...);
}
template <auto... O, Tensor T, int... D>
SHEAF_INLINE constexpr auto argmin(T t, dim_<D>... d) {
  return detail::arg_fold<"argmin", folding::argmin, T, O...>(t, d...);
}

// var<correction<0>, keepdim>(x, dim<1>). Computed from the differences to the mean, in f32 for half floats.
template <auto... O, Tensor T, int... D>
SHEAF_INLINE constexpr auto var(T t, dim_<D>...) {
  if constexpr (detail::expect_dimensions<"var", T, D...>()) {
    constexpr unsigned set = detail::dimensions<T, D...>();
    return detail::named<"var", T>(detail::narrow(detail::variance<T, set, O...>(t), detail::element_of_all(t)),
                                   detail::remaining<T, set, detail::keeps<O...>>{});
  } else {
    return detail::refused{};
  }
}
template <auto... O, Tensor T, int... D>
SHEAF_INLINE constexpr auto stddev(T t, dim_<D>...) {
  if constexpr (detail::expect_dimensions<"stddev", T, D...>()) {
    constexpr unsigned set = detail::dimensions<T, D...>();
    return detail::named<"stddev", T>(
        detail::narrow(sqrt(detail::variance<T, set, O...>(t)), detail::element_of_all(t)),
        detail::remaining<T, set, detail::keeps<O...>>{});
  } else {
    return detail::refused{};
  }
}

// norm<2>(x), norm<infinity>(x, dim<1>), norm<3, keepdim>(x): the p-norm; 0 counts what is not zero.
template <auto P, auto... O, Tensor T, int... D>
SHEAF_INLINE constexpr auto norm(T t, dim_<D>...) {
  detail::only_keepdim<O...>();
  if constexpr (detail::expect_dimensions<"norm", T, D...>()) {
    constexpr unsigned set = detail::dimensions<T, D...>();
    return detail::named<"norm", T>(
        detail::narrow(detail::norm_of<P, T, set>(detail::wide(detail::element_of_all(t))), detail::element_of_all(t)),
        detail::remaining<T, set, detail::keeps<O...>>{});
  } else {
    return detail::refused{};
  }
}

}  // namespace sheaf::inline v0_1
