// Elementwise functions with broadcasting, and contractions. Shown by tests/numeric/familiar_slices.cpp.
#pragma once
#include <type_traits>

#include <sheaf/dsl/sugar/losses.hpp>

namespace sheaf::inline v0_1 {

namespace detail {

constexpr int larger(int a, int b) { return a > b ? a : b; }

// An operand at the result's axes, aligned at the last; a dimension that is 1 by type is repeated.
template <int Rank, class T, std::size_t... D>
SHEAF_INLINE constexpr auto broadcast(T t, std::index_sequence<D...>) {
  return t(std::conditional_t < static_extent(T{}, static_cast<int>(D)) == 1, literal_<std::int64_t{0}>,
           position < Rank - T::rank + static_cast<int>(D) >> {}...);
}
// What an operand whose first dimension stands at axis First says of the result's extent at an axis: 1 where it has no
// such dimension.
template <int First, class T>
constexpr std::int64_t extent_at(int axis) {
  return axis < First ? 1 : static_extent(T{}, axis - First);
}
template <int Rank, class... T>
constexpr bool all_single(int axis) {
  return ((extent_at<Rank - T::rank, T>(axis) == 1) && ...);
}
template <fixed_string What, class A, int FirstA, class B, int FirstB, int Axis>
SHEAF_INLINE constexpr void expect_same_extent() {
  constexpr std::int64_t a = extent_at<FirstA, A>(Axis), b = extent_at<FirstB, B>(Axis);
  expect<(a < 0 || b < 0 || a == 1 || b == 1 || a == b), [] {
    return sentence{} << What.text << ": extents " << extent_at<FirstA, A>(Axis) << " of " << called<A>()
                      << " in dimension " << Axis - FirstA << " and " << extent_at<FirstB, B>(Axis) << " of "
                      << called<B>() << " in dimension " << Axis - FirstB << " do not broadcast";
  }>();
}
template <fixed_string What, class A, int FirstA, class B, int FirstB, std::size_t... Axis>
SHEAF_INLINE constexpr void expect_broadcast(std::index_sequence<Axis...>) {
  (expect_same_extent<What, A, FirstA, B, FirstB, static_cast<int>(Axis)>(), ...);
}
template <int Rank, class A, class... B>
SHEAF_INLINE constexpr void expect_broadcasts() {
  if constexpr (sizeof...(B) > 0) {
    (expect_broadcast<"elementwise", A, Rank - A::rank, B, Rank - B::rank>(std::make_index_sequence<Rank>{}), ...);
    expect_broadcasts<Rank, B...>();
  }
}
template <int Rank, class... T, std::size_t... I>
SHEAF_INLINE constexpr auto broadcast_axes(std::index_sequence<I...>) {
  return (list<>{} + ... +
          list<std::conditional_t<all_single<Rank, T...>(static_cast<int>(I)), single<static_cast<int>(I)>,
                                  position<static_cast<int>(I)>>>{});
}

template <fixed_string What, class A, class B, int DA, int DB>
SHEAF_INLINE constexpr bool expect_contraction() {
  constexpr std::int64_t a = static_extent(A{}, DA), b = static_extent(B{}, DB);
  expect<(a < 0 || b < 0 || a == b), [] {
    return sentence{} << What.text << ": dimension " << DA << " of " << called<A>() << " has extent "
                      << static_extent(A{}, DA) << ", dimension " << DB << " of " << called<B>() << " has "
                      << static_extent(B{}, DB);
  }>();
  return a < 0 || b < 0 || a == b;
}

}  // namespace detail

// elementwise([](auto a, auto b) { return a * b; }, x, w): the function of the elements, tensors aligned at their last
// dimension; one whose extent is 1 by its type (tensor<"w", float, 2, 1, dynamic>, keepdim) is repeated.
template <class F, Tensor... T>
SHEAF_INLINE constexpr auto elementwise(F, T...) {
  static_assert(sizeof...(T) > 0, "elementwise: expected a function and tensors");
  constexpr int rank = [] {
    int most = 0;
    ((most = detail::larger(most, T::rank)), ...);
    return most;
  }();
  detail::expect_broadcasts<rank, T...>();
  // Its result's type is all that is asked of f: called, it would be a symbol as long as the expressions.
  using result =
      std::invoke_result_t<F, decltype(detail::broadcast<rank>(T{}, std::make_index_sequence<T::rank>{}))...>;
  static_assert(Expression<result>, "elementwise: the function returns an expression of the elements");
  return detail::named<"elementwise", T...>(result{},
                                            detail::broadcast_axes<rank, T...>(std::make_index_sequence<rank>{}));
}

template <Tensor A, Tensor B>
SHEAF_INLINE constexpr auto dot(A a, B b) {
  if constexpr (detail::expect_rank_of<"dot", 1, A>() && detail::expect_rank_of<"dot", 1, B>() &&
                detail::expect_contraction<"dot", A, B, 0, 0>()) {
    constexpr auto i = detail::position<0>{};
    return detail::named<"dot", A, B>(sum(i, a(i) * b(i)), detail::list<>{});
  } else {
    return detail::refused{};
  }
}

namespace detail {

// The places of two factors' dimensions in a product: those before the last two are batches, aligned at their last.
template <class A, class B>
struct product_shape {
  static constexpr int batches(int rank) { return rank < 2 ? 0 : rank - 2; }
  static constexpr int batch = larger(batches(A::rank), batches(B::rank));
  static constexpr int first_a = batch - batches(A::rank), first_b = batch - batches(B::rank);
  using row = std::conditional_t<(A::rank > 1), list<position<batch>>, list<>>;
  using column = std::conditional_t<(B::rank > 1), list<position<batch + (A::rank > 1 ? 1 : 0)>>, list<>>;

  // A dimension of a batch that is 1 by type is repeated.
  template <class T, int First, std::size_t... D>
  static constexpr auto batch_of(std::index_sequence<D...>) {
    return list<std::conditional_t<static_extent(T{}, static_cast<int>(D)) == 1, literal_<std::int64_t{0}>,
                                   position<First + static_cast<int>(D)>>...>{};
  }
  template <std::size_t... I>
  static constexpr auto batch_axes(std::index_sequence<I...>) {
    return list<std::conditional_t<extent_at<first_a, A>(static_cast<int>(I)) == 1 &&
                                       extent_at<first_b, B>(static_cast<int>(I)) == 1,
                                   single<static_cast<int>(I)>, position<static_cast<int>(I)>>...>{};
  }
  using left = decltype(batch_of<A, first_a>(std::make_index_sequence<batches(A::rank)>{}) + row{} + list<inner<0>>{});
  using right =
      decltype(batch_of<B, first_b>(std::make_index_sequence<batches(B::rank)>{}) + list<inner<0>>{} + column{});
  using axes = decltype(batch_axes(std::make_index_sequence<batch>{}) + row{} + column{});
};

}  // namespace detail

// [..., n, k] times [..., k, m], as torch.matmul: dimensions before the last two are batches, and one that is 1 by its
// type or isn't there is repeated; a factor of rank 1 is a row or a column that the result does not have.
template <Tensor A, Tensor B>
SHEAF_INLINE constexpr auto matmul(A a, B b) {
  if constexpr (!detail::expect_rank_of_at_least<"matmul", 1, A>() ||
                !detail::expect_rank_of_at_least<"matmul", 1, B>()) {
    return detail::refused{};
  } else if constexpr (!detail::expect_contraction<"matmul", A, B, A::rank - 1, B::rank == 1 ? 0 : B::rank - 2>()) {
    return detail::refused{};
  } else {
    using shape = detail::product_shape<A, B>;
    detail::expect_broadcast<"matmul", A, shape::first_a, B, shape::first_b>(std::make_index_sequence<shape::batch>{});
    return detail::named<"matmul", A, B>(
        sum(detail::inner<0>{}, detail::at(a, typename shape::left{}) * detail::at(b, typename shape::right{})),
        typename shape::axes{});
  }
}

// sum(a b) / max(|a| |b|, eps) along a dimension, as PyTorch.
template <double Eps = 1e-8, Tensor A, Tensor B, int D>
SHEAF_INLINE constexpr auto cosine_similarity(A a, B b, dim_<D>) {
  if constexpr (detail::expect_same_rank<"cosine_similarity", A, B>() &&
                detail::expect_dimensions<"cosine_similarity", A, D>()) {
    constexpr unsigned set = detail::dimensions<A, D>();
    const auto x = detail::wide(detail::element_of_all(a));
    const auto y = detail::wide(detail::element_of_all(b));
    const auto lengths = detail::flat_root(detail::fold<folding::sum, A, set>(x * x)) *
                         detail::flat_root(detail::fold<folding::sum, A, set>(y * y));
    const auto together = detail::fold<folding::sum, A, set>(x * y);
    return detail::named<"cosine_similarity", A, B>(
        detail::narrow(together / maximum(lengths, literal_<Eps>{}),
                       detail::element_of_all(a) * detail::element_of_all(b)),
        detail::remaining<A, set>{});
  } else {
    return detail::refused{};
  }
}

// sum(w x) / sum(w); the weights have x's rank, or stand for one dimension.
template <auto... O, Tensor X, Tensor W, int... D>
SHEAF_INLINE constexpr auto weighted_mean(X x, W w, dim_<D>...) {
  detail::only_keepdim<O...>();
  if constexpr (detail::expect_dimensions<"weighted_mean", X, D...>()) {
    constexpr unsigned set = detail::dimensions<X, D...>();
    constexpr bool line = W::rank == 1 && detail::size_of(set) == 1;
    expect<(line || W::rank == X::rank), [] {
      return detail::sentence{} << "weighted_mean: " << detail::called<X>() << " has rank " << X::rank
                                << ", the weights " << detail::called<W>() << " have rank " << W::rank;
    }>();
    if constexpr (line || W::rank == X::rank) {
      using where =
          std::conditional_t<line, detail::picked<detail::positions<X::rank>, set>, detail::positions<X::rank>>;
      const auto weight = detail::wide(detail::at(w, where{}));
      const auto e = detail::element_of_all(x);
      return detail::named<"weighted_mean", X, W>(
          detail::narrow(
              detail::fold<folding::sum, X, set>(weight * detail::wide(e)) / detail::fold<folding::sum, X, set>(weight),
              detail::at(w, where{}) * e),
          detail::remaining<X, set, detail::keeps<O...>>{});
    } else {
      return detail::refused{};
    }
  } else {
    return detail::refused{};
  }
}
// The mean of those elements whose mask is true; NaN where none is.
template <auto... O, Tensor X, Tensor M, int... D>
SHEAF_INLINE constexpr auto masked_mean(X x, M mask, dim_<D>...) {
  detail::only_keepdim<O...>();
  if constexpr (detail::expect_dimensions<"masked_mean", X, D...>()) {
    constexpr unsigned set = detail::dimensions<X, D...>();
    constexpr bool line = M::rank == 1 && detail::size_of(set) == 1;
    expect<(line || M::rank == X::rank), [] {
      return detail::sentence{} << "masked_mean: " << detail::called<X>() << " has rank " << X::rank << ", the mask "
                                << detail::called<M>() << " has rank " << M::rank;
    }>();
    if constexpr (line || M::rank == X::rank) {
      using where =
          std::conditional_t<line, detail::picked<detail::positions<X::rank>, set>, detail::positions<X::rank>>;
      const auto chosen = detail::at(mask, where{});
      const auto e = detail::element_of_all(x);
      return detail::named<"masked_mean", X, M>(
          detail::narrow(detail::fold<folding::sum, X, set>(select(chosen, detail::wide(e), literal_<0>{})) /
                             detail::fold<folding::count, X, set>(chosen),
                         e),
          detail::remaining<X, set, detail::keeps<O...>>{});
    } else {
      return detail::refused{};
    }
  } else {
    return detail::refused{};
  }
}

}  // namespace sheaf::inline v0_1
