// Reductions over axes, domains and over(...). mean, count and logsumexp are built from sums and maxima.
#pragma once
#include <sheaf/dsl/surface/tensor.hpp>

namespace sheaf {

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

template <folding Kind, class Index, class Body>
struct reduce_ : expression_base {
  static constexpr built build(builder& b) {
    const auto bound = detail::bind_all(b, Index{});
    node_id body = b(Body{}).id;
    constexpr auto over = detail::spelled(Index{});
    if constexpr (Kind == folding::mean) {
      return {detail::fold_of::mean(b, bound, body, over.text)};
    } else if constexpr (Kind == folding::logsumexp) {
      return {detail::fold_of::logsumexp(b, bound, body)};
    } else if constexpr (Kind == folding::count) {
      if (b.g.type(body) != element::boolean) body = make(b.g, op::not_equal, body, number_like(b.g, body, 0));
      return {detail::fold_of::plain(b, monoid::sum, bound, cast_to(b.g, element::i64, body))};
    } else {
      return {detail::fold_of::plain(b, static_cast<monoid>(Kind), bound, body)};
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

inline constexpr const char* folding_names[] = {"sum",    "prod",   "max",  "min",   "any",      "all",
                                                "argmax", "argmin", "mean", "count", "logsumexp"};
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

}  // namespace detail

// NAME(t, e), NAME(t.in(lo, hi), e), NAME(t.where(c), e), NAME(over(m, t.in(...)), e).
#define SHEAF_REDUCTION(name)                                   \
  template <Indices I, Expression E>                            \
  SHEAF_INLINE constexpr auto name(I, E) {                      \
    detail::expect_value<E>();                                  \
    return reduce_<folding::name, I, E>{};                      \
  }                                                             \
  template <Indices I, Number E>                                \
  SHEAF_INLINE constexpr auto name(I, E) {                      \
    detail::bare_number<E>();                                   \
    return reduce_<folding::name, I, literal_<0>>{};            \
  }                                                             \
  template <detail::MisplacedFold... A>                         \
  SHEAF_INLINE constexpr auto name(A...) {                      \
    detail::misplaced_fold<sizeof...(A) == 0, folding::name>(); \
    return literal_<0>{};                                       \
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

}  // namespace sheaf
