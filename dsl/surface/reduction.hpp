// Reductions over axes, domains and over(...): types that build through folding.hpp.
#pragma once
#include <sheaf/dsl/surface/folding.hpp>
#include <sheaf/dsl/surface/tensor.hpp>

namespace sheaf::inline v0_1 {

namespace detail {

template <int N>
struct bound_list {
  bound_axis axes[N];
};
template <class... I>
SHEAF_INLINE constexpr auto bind_all(builder& b, over_<I...>) {
  return bound_list<sizeof...(I)>{{I::bind(b)...}};
}
template <class I>
SHEAF_INLINE constexpr auto bind_all(builder& b, I) {
  return bound_list<1>{{I::bind(b)}};
}
template <class... I>
constexpr sentence spelled(over_<I...>) {
  sentence s;
  int k = 0;
  ((s << (k++ > 0 ? ", " : "") << I::label.text), ...);
  return s;
}
template <class I>
constexpr sentence spelled(I) {
  return sentence{} << I::label.text;
}

// What `make(folder)` makes over these indices.
template <class Index, class Make>
constexpr node_id folded_over(builder& b, Index index, Make make_node) {
  const auto bound = bind_all(b, index);
  const sentence over = spelled(index);
  folder f(b, {bound.axes, static_cast<int>(sizeof(bound.axes) / sizeof(bound_axis)), over.text});
  return make_node(f);
}
template <auto... Policies>
constexpr policies policies_of() {
  policies p;
  (p.add(Policies), ...);
  return p;
}

}  // namespace detail

template <folding Kind, class Index, class Body, auto... Policies>
struct reduce_ : expression_base {
  static constexpr built build(builder& b) {
    return {detail::folded_over(b, Index{}, [&](detail::folder& fold) {
      return fold(Kind, b(Body{}).id, detail::policies_of<Policies...>());
    })};
  }
};

namespace detail {

template <class... A>
inline constexpr bool folds = false;
template <class I, class E>
inline constexpr bool folds<I, E> = Indices<I> && (Expression<E> || Number<E>);
// sum(x, dim<1>): of the familiar layer, sugar/reductions.hpp.
template <class... A>
inline constexpr bool folds_dimensions = false;
template <class T, int... D>
inline constexpr bool folds_dimensions<T, dim_<D>...> = Tensor<T>;
template <class... A>
concept MisplacedFold = !folds<A...> && !folds_dimensions<A...> && (Expression<A> || ...);

template <class T>
inline constexpr bool is_dimension = false;
template <int D>
inline constexpr bool is_dimension<dim_<D>> = true;

template <folding Kind, class... A>
SHEAF_INLINE constexpr auto refuse_fold() {
  expect<(is_refused<A> || ...), [] {
    if ((is_dimension<A> || ...)) return misplaced_dimension(Kind);
    if ((Number<A> || ...)) return sentence{} << folding_name(Kind) << ": a dimension is dim<1>, not a number";
    return misplaced_fold(Kind);
  }>();
  return refused{};
}

template <folding Kind, class... Policies>
SHEAF_INLINE constexpr bool expect_policies() {
  constexpr const char* wrong = misplaced_policy(Kind, ((std::is_same_v<Policies, ties> ? 1 : 0) + ...),
                                                 ((is_empty_policy<Policies> ? 1 : 0) + ...),
                                                 ((is_sum_policy<Policies> ? 1 : 0) + ...));
  expect<wrong == nullptr, [] { return sentence{} << folding_name(Kind) << ": " << wrong; }>();
  return wrong == nullptr;
}

}  // namespace detail

// NAME(t, e), NAME(t.in(lo, hi), e), NAME(t.where(c), e), NAME(over(m, t.in(...)), e); NAME<policies...>(t, e).
#define SHEAF_REDUCTION(name)                                                              \
  template <detail::Policy auto P, detail::Policy auto... More, Indices I, Expression E>   \
  SHEAF_INLINE constexpr auto name(const I&, const E&) {                                                 \
    if constexpr (!detail::is_value<E>)                                                    \
      return detail::refuse<E>();                                                          \
    else if constexpr (detail::expect_policies<folding::name, std::remove_const_t<decltype(P)>, \
                                               std::remove_const_t<decltype(More)>...>())  \
      return reduce_<folding::name, I, E, P, More...>{};                                   \
    else                                                                                   \
      return reduce_<folding::name, I, E>{};                                               \
  }                                                                                        \
  template <Indices I, class E>                                                            \
    requires(Expression<E> || Number<E>)                                                   \
  SHEAF_INLINE constexpr auto name(const I&, const E&) {                                                 \
    if constexpr (detail::is_value<E>)                                                     \
      return reduce_<folding::name, I, E>{};                                               \
    else                                                                                   \
      return detail::refuse<E>();                                                          \
  }                                                                                        \
  template <class... A>                                                                    \
    requires detail::MisplacedFold<A...>                                                   \
  SHEAF_INLINE constexpr auto name(const A&...) {                                                 \
    return detail::refuse_fold<folding::name, A...>();                                     \
  }
// Over nothing: sum 0, prod 1, max -inf, min inf, any false, all true, argmax and argmin -1, mean NaN, count 0,
// logsumexp -inf. Integers and booleans are summed in i64; max and min are NaN if any is NaN; argmax and argmin are the
// index at the first of equals, NaN being the largest and the smallest; count is of the true ones, i64.
SHEAF_MONOIDS(SHEAF_REDUCTION)
SHEAF_REDUCTION(mean)
SHEAF_REDUCTION(count)
SHEAF_REDUCTION(logsumexp)
#undef SHEAF_REDUCTION
#undef SHEAF_MONOIDS

}  // namespace sheaf::inline v0_1
