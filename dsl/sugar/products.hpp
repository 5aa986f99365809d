// Elementwise functions with broadcasting, and contractions. Shown by tests/numeric/familiar_slices.cpp.
#pragma once
#include <type_traits>

#include <sheaf/dsl/sugar/losses.hpp>

namespace sheaf {

namespace detail {

constexpr int larger(int a, int b) { return a > b ? a : b; }

// An operand at the result's axes, aligned at the last; a dimension that is 1 by type is repeated.
template <int Rank, class T, std::size_t... D>
SHEAF_INLINE constexpr auto broadcast(T t, std::index_sequence<D...>) {
  return t(std::conditional_t < static_extent(T{}, static_cast<int>(D)) == 1, literal_<std::int64_t{0}>,
           position < Rank - T::rank + static_cast<int>(D) >> {}...);
}
// What an operand says of the result's extent at an axis: 1 where it has no such dimension.
template <int Rank, class T>
constexpr std::int64_t extent_at(int axis) {
  const int d = axis - (Rank - T::rank);
  return d < 0 ? 1 : static_extent(T{}, d);
}
template <int Rank, class... T>
constexpr bool all_single(int axis) {
  return ((extent_at<Rank, T>(axis) == 1) && ...);
}
template <int Rank, class A, class B, int Axis>
SHEAF_INLINE constexpr void expect_same_extent() {
  constexpr std::int64_t a = extent_at<Rank, A>(Axis), b = extent_at<Rank, B>(Axis);
  expect<(a < 0 || b < 0 || a == 1 || b == 1 || a == b), [] {
    return sentence{} << "elementwise: extents " << extent_at<Rank, A>(Axis) << " of " << A::label.text
                      << " in dimension " << Axis - (Rank - A::rank) << " and " << extent_at<Rank, B>(Axis) << " of "
                      << B::label.text << " in dimension " << Axis - (Rank - B::rank) << " do not broadcast";
  }>();
}
template <int Rank, class A, class B, std::size_t... Axis>
SHEAF_INLINE constexpr void expect_broadcast(std::index_sequence<Axis...>) {
  (expect_same_extent<Rank, A, B, static_cast<int>(Axis)>(), ...);
}
template <int Rank, class A, class... B>
SHEAF_INLINE constexpr void expect_broadcasts() {
  if constexpr (sizeof...(B) > 0) {
    (expect_broadcast<Rank, A, B>(std::make_index_sequence<Rank>{}), ...);
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
    return sentence{} << What.text << ": dimension " << DA << " of " << A::label.text << " has extent "
                      << static_extent(A{}, DA) << ", dimension " << DB << " of " << B::label.text << " has "
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
    return detail::refused_{};
  }
}

// [..., n, k] times [k, m] or [k]; of two tensors of one rank above 2, batch by batch; [k] times [k, m].
template <Tensor A, Tensor B>
SHEAF_INLINE constexpr auto matmul(A a, B b) {
  if constexpr (!detail::expect_rank_of_at_least<"matmul", 1, A>() ||
                !detail::expect_rank_of_at_least<"matmul", 1, B>()) {
    return detail::refused_{};
  } else {
    constexpr int shared = B::rank == 1 ? 0 : B::rank - 2;
    if constexpr (detail::expect_contraction<"matmul", A, B, A::rank - 1, shared>()) {
      constexpr auto k = detail::inner<0>{};
      constexpr auto m = detail::position<(A::rank < 1 ? 0 : A::rank - 1)>{};
      using front = detail::picked<detail::positions<A::rank>, (1u << (A::rank - 1)) - 1>;
      const auto left = detail::at(a, front{} + detail::list<detail::inner<0>>{});
      if constexpr (B::rank == 1) {
        return detail::named<"matmul", A, B>(sum(k, left * b(k)), front{});
      } else if constexpr (B::rank == 2) {
        return detail::named<"matmul", A, B>(sum(k, left * b(k, m)),
                                             front{} + detail::list<detail::position<A::rank - 1>>{});
      } else {
        expect<A::rank == B::rank, [] {
          return detail::sentence{} << "matmul: " << A::label.text << " has rank " << A::rank << ", " << B::label.text
                                    << " has rank " << B::rank;
        }>();
        if constexpr (A::rank == B::rank) {
          using batch = detail::picked<detail::positions<A::rank>, (1u << (A::rank - 2)) - 1>;
          return detail::named<"matmul", A, B>(
              sum(k, left * detail::at(b, batch{} + detail::list<detail::inner<0>, detail::position<A::rank - 1>>{})),
              front{} + detail::list<detail::position<A::rank - 1>>{});
        } else {
          return detail::refused_{};
        }
      }
    } else {
      return detail::refused_{};
    }
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
    return detail::refused_{};
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
      return detail::sentence{} << "weighted_mean: " << X::label.text << " has rank " << X::rank << ", the weights "
                                << W::label.text << " have rank " << W::rank;
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
      return detail::refused_{};
    }
  } else {
    return detail::refused_{};
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
      return detail::sentence{} << "masked_mean: " << X::label.text << " has rank " << X::rank << ", the mask "
                                << M::label.text << " has rank " << M::rank;
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
      return detail::refused_{};
    }
  } else {
    return detail::refused_{};
  }
}

}  // namespace sheaf
