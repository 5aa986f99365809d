// Reductions over axes, domains and over(...). mean, count and logsumexp are built from sums and maxima.
#pragma once
#include <sheaf/dsl/surface/policy.hpp>
#include <sheaf/dsl/surface/tensor.hpp>

namespace sheaf::inline v0_1 {

namespace detail {

template <int N>
struct bound_list {
  bound_axis axes[N];
  static constexpr int count = N;
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

// f16 and bf16 are summed in f32 and rounded once at the end.
constexpr bool is_half(element type) { return type == element::f16 || type == element::bf16; }
constexpr node_id widened(graph& g, node_id e) { return is_half(g.type(e)) ? cast_to(g, element::f32, e) : e; }

// How each kind becomes graph nodes.
struct fold_of {
  template <class Bound>
  static constexpr node_id plain(builder& b, monoid kind, const Bound& bound, node_id body) {
    const bool sums = kind == monoid::sum || kind == monoid::prod;
    const node_id result = b.reduction(kind, bound.axes, Bound::count, sums ? widened(b.g, body) : body).id;
    return sums && is_half(b.g.type(body)) ? cast_to(b.g, b.g.type(body), result) : result;
  }
  template <class Bound>
  static constexpr node_id mean(builder& b, const Bound& bound, node_id body, const char* over) {
    if (!is_floating(b.g.type(body)))
      b.fail() << "mean over " << over << ": the values are " << row(b.g.type(body)).name
               << ", expected a floating type; cast them: mean(" << over << ", cast<float>(...))";
    // The body takes part in the count, so that both find the same ranges; it counts as one each.
    const node_id wide = widened(b.g, body);
    const node_id n = b.counted(bound.axes, Bound::count, wide);
    const node_id total = b.reduction(monoid::sum, bound.axes, Bound::count, wide).id;
    return cast_to(b.g, b.g.type(body), make(b.g, op::div, total, cast_to(b.g, b.g.type(wide), n)));
  }
  // The maximum is taken out first, as PyTorch does, and 0 instead of it where it is infinite.
  template <class Bound>
  static constexpr node_id logsumexp(builder& b, const Bound& bound, node_id body) {
    graph& g = b.g;
    body = is_floating(g.type(body)) ? body : cast_to(g, element::f32, body);
    const node_id wide = widened(g, body);
    const node_id top = b.reduction(monoid::max, bound.axes, Bound::count, wide).id;
    const node_id endless = make(g, op::equal, make(g, op::abs, top), number_like(g, top, math::infinity));
    const node_id shift = make(g, op::select, endless, number_like(g, top, 0), top);
    const node_id fixed = b.stop_gradient({shift, false}).id;
    const node_id terms = make(g, op::exp, make(g, op::sub, wide, fixed));
    const node_id total = b.reduction(monoid::sum, bound.axes, Bound::count, terms).id;
    return cast_to(g, g.type(body), make(g, op::add, make(g, op::log, total), fixed));
  }
};

}  // namespace detail

enum class folding : std::uint8_t { sum, prod, max, min, any, all, argmax, argmin, mean, count, logsumexp };

namespace detail {

SHEAF_HIDDEN inline constexpr const char* folding_names[] = {"sum",    "prod",   "max",  "min",   "any",      "all",
                                                "argmax", "argmin", "mean", "count", "logsumexp"};
constexpr bool is_extremum(folding kind) { return kind == folding::max || kind == folding::min; }
constexpr bool accumulates(folding kind) {
  return kind == folding::sum || kind == folding::prod || kind == folding::mean || kind == folding::logsumexp;
}

// What a reduction is worth over nothing, and that it must not be over nothing.
template <class Bound>
constexpr node_id over_nothing(builder& b, const Bound& bound, node_id body, node_id result, const policies& p,
                               const char* name) {
  const element type = b.g.type(result);
  if (!is_floating(type) && (p.has_nan || p.value != static_cast<double>(static_cast<std::int64_t>(p.value))))
    b.fail() << name << ": empty::" << (p.has_nan ? "nan" : "value is a fraction, which") << " has no place in "
             << row(type).name;
  const node_id n = b.counted(bound.axes, Bound::count, body);
  const node_id instead = number(b.g, type, p.has_nan ? math::nan : p.value);
  return make(b.g, op::select, make(b.g, op::equal, n, integer(b.g, 0)), instead, result);
}
template <class Bound>
constexpr node_id of_something(builder& b, const Bound& bound, node_id body, node_id result, const char* name,
                               const char* over) {
  const node_id n = b.counted(bound.axes, Bound::count, body);
  return b.required(result, make(b.g, op::equal, n, integer(b.g, 0)), sentence{} << name << " over " << over);
}

}  // namespace detail

template <folding Kind, class Index, class Body, auto... Policies>
struct reduce_ : expression_base {
  static constexpr built build(builder& b) {
    const auto bound = detail::bind_all(b, Index{});
    const node_id body = b(Body{}).id;
    if constexpr (sizeof...(Policies) == 0) return {fold(b, bound, body)};
    detail::policies p;
    (p.add(Policies), ...);
    node_id wide = body;
    if (p.accumulates || p.compensated) {
      const element type = p.accumulates ? p.accumulated : element::f64;
      if (!is_floating(b.g.type(body)) || !is_floating(type))
        b.fail() << name << ": accumulate and compensated are for floating types; the values are "
                 << row(b.g.type(body)).name << ", the accumulator " << row(type).name;
      if (p.compensated && b.g.type(body) == element::f64)
        b.fail() << name << ": the values are f64 already; compensated sums f32 and narrower in f64";
      wide = cast_to(b.g, type, body);
    }
    node_id result = fold(b, bound, wide);
    if (p.chosen != ties::even)
      result = b.graft(result,
                       b.at_extremum(static_cast<monoid>(Kind), p.chosen == ties::last, bound.axes, bound.count, wide));
    if (p.has_value || p.has_nan) result = detail::over_nothing(b, bound, wide, result, p, name);
    if (p.has_error) {
      constexpr auto over = detail::spelled(Index{});
      result = detail::of_something(b, bound, wide, result, name, over.text);
    }
    return {wide == body ? result : cast_to(b.g, b.g.type(body), result)};
  }

 private:
  static constexpr const char* name = detail::folding_names[static_cast<int>(Kind)];
  template <class Bound>
  static constexpr node_id fold(builder& b, const Bound& bound, node_id body) {
    constexpr auto over = detail::spelled(Index{});
    if constexpr (Kind == folding::mean) {
      return detail::fold_of::mean(b, bound, body, over.text);
    } else if constexpr (Kind == folding::logsumexp) {
      return detail::fold_of::logsumexp(b, bound, body);
    } else if constexpr (Kind == folding::count) {
      if (b.g.type(body) != element::boolean) body = make(b.g, op::not_equal, body, number_like(b.g, body, 0));
      return detail::fold_of::plain(b, monoid::sum, bound, cast_to(b.g, element::i64, body));
    } else {
      return detail::fold_of::plain(b, static_cast<monoid>(Kind), bound, body);
    }
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

template <bool Ok, folding Kind>
SHEAF_INLINE constexpr void misplaced_fold() {
  expect<Ok, [] {
    constexpr auto name = folding_names[static_cast<int>(Kind)];
    sentence s;
    s << name << ": expected an index, then what to fold, as in " << name << "(t, x(t)), " << name
      << "(t.in(lo, hi), x(t)) or " << name << "(over(m, t), y(m, t))";
    if (Kind == folding::max || Kind == folding::min) s << "; of two values, " << name << "imum(a, b)";
    return s;
  }>();
}

template <folding Kind, class... Policies>
SHEAF_INLINE constexpr bool expect_policies() {
  constexpr bool ties_fit = is_extremum(Kind) || !(std::is_same_v<Policies, ties> || ...);
  constexpr bool sums_fit = accumulates(Kind) || !(is_sum_policy<Policies> || ...);
  constexpr bool once = ((std::is_same_v<Policies, ties> ? 1 : 0) + ...) < 2 &&
                        ((is_empty_policy<Policies> ? 1 : 0) + ...) < 2 &&
                        ((is_sum_policy<Policies> ? 1 : 0) + ...) < 2;
  expect<ties_fit,
         [] { return sentence{} << folding_names[static_cast<int>(Kind)] << ": ties are a policy of max and min"; }>();
  expect<sums_fit, [] {
    return sentence{} << folding_names[static_cast<int>(Kind)]
                      << ": accumulate and compensated are policies of sum, prod, mean and logsumexp";
  }>();
  expect<once, [] { return sentence{} << folding_names[static_cast<int>(Kind)] << ": two policies for one thing"; }>();
  return ties_fit && sums_fit && once;
}

}  // namespace detail

// NAME(t, e), NAME(t.in(lo, hi), e), NAME(t.where(c), e), NAME(over(m, t.in(...)), e); NAME<policies...>(t, e).
#define SHEAF_REDUCTION(name)                                                              \
  template <detail::Policy auto P, detail::Policy auto... More, Indices I, Expression E>   \
  SHEAF_INLINE constexpr auto name(I, E) {                                                 \
    detail::expect_value<E>();                                                             \
    if constexpr (detail::expect_policies<folding::name, std::remove_const_t<decltype(P)>, \
                                          std::remove_const_t<decltype(More)>...>())       \
      return reduce_<folding::name, I, E, P, More...>{};                                   \
    else                                                                                   \
      return reduce_<folding::name, I, E>{};                                               \
  }                                                                                        \
  template <Indices I, Expression E>                                                       \
  SHEAF_INLINE constexpr auto name(I, E) {                                                 \
    detail::expect_value<E>();                                                             \
    return reduce_<folding::name, I, E>{};                                                 \
  }                                                                                        \
  template <Indices I, Number E>                                                           \
  SHEAF_INLINE constexpr auto name(I, E) {                                                 \
    detail::bare_number<E>();                                                              \
    return reduce_<folding::name, I, literal_<0>>{};                                       \
  }                                                                                        \
  template <detail::MisplacedFold... A>                                                    \
  SHEAF_INLINE constexpr auto name(A...) {                                                 \
    detail::misplaced_fold<sizeof...(A) == 0, folding::name>();                            \
    return literal_<0>{};                                                                  \
  }
SHEAF_REDUCTION(sum)        // 0 over nothing; integers and booleans are summed in i64
SHEAF_REDUCTION(prod)       // 1 over nothing
SHEAF_REDUCTION(max)        // -inf over nothing; NaN if any is NaN
SHEAF_REDUCTION(min)        // inf over nothing; NaN if any is NaN
SHEAF_REDUCTION(any)        // false over nothing
SHEAF_REDUCTION(all)        // true over nothing
SHEAF_REDUCTION(mean)       // NaN over nothing
SHEAF_REDUCTION(count)      // of the true ones, i64
SHEAF_REDUCTION(logsumexp)  // -inf over nothing
SHEAF_REDUCTION(argmax)     // the index at the largest, the first of equals; NaN is the largest; -1 over nothing
SHEAF_REDUCTION(argmin)
#undef SHEAF_REDUCTION

}  // namespace sheaf::inline v0_1
