// Losses: cross_entropy(logits, target), nll_loss, mse_loss, l1_loss. Shown by tests/numeric/familiar_normalise.cpp.
#pragma once
#include <sheaf/dsl/sugar/normalise.hpp>

namespace sheaf::inline v0_1 {

enum class reduce_losses : std::uint8_t { mean, sum, none };

// cross_entropy<loss_options{.smoothing = 0.1}>(logits, target)
struct loss_options {
  reduce_losses reduction = reduce_losses::mean;  // over the samples that count
  std::int64_t ignore = -100;                     // samples of this class id count nothing
  double smoothing = 0;                           // of the target: this share of it is spread evenly over all classes
};

namespace detail {

// [N, C, ...] with the class in dimension 1, or [C] by itself: the subscripts of the samples, and with a class among
// them.
template <int Rank>
SHEAF_HIDDEN inline constexpr int class_dimension = Rank == 1 ? 0 : 1;
template <int Rank>
using sample_positions = picked<positions<Rank>, ((1u << Rank) - 1) & ~(1u << class_dimension<Rank>)>;

template <class T, class Class>
SHEAF_INLINE constexpr auto of_class(T t, Class) {
  return at(t, replaced<positions<T::rank>, class_dimension<T::rank>, Class>{});
}

template <fixed_string What, bool Probabilities, class T, class Y>
SHEAF_INLINE constexpr bool expect_targets() {
  if constexpr (expect_rank_of_at_least<What, 1, T>()) {
    constexpr bool fits = Y::rank == T::rank - 1 || (Probabilities && Y::rank == T::rank);
    expect<fits, [] {
      sentence s;
      s << What.text << ": " << called<T>() << " has rank " << T::rank << ", so the class ids have " << T::rank - 1;
      if (Probabilities) s << ", class probabilities " << T::rank;
      return s << "; " << called<Y>() << " has rank " << Y::rank;
    }>();
    return fits;
  }
  return false;
}

template <reduce_losses How, fixed_string What, class T, class E, class Weight, class... Axes>
SHEAF_INLINE constexpr auto reduced_losses(E e, Weight weight, list<Axes...> axes) {
  if constexpr (How == reduce_losses::none) {
    return named<What, T>(e, axes);
  } else if constexpr (sizeof...(Axes) == 0) {
    if constexpr (How == reduce_losses::sum)
      return named<What, T>(e, axes);
    else
      return named<What, T>(e / weight, axes);
  } else {
    const auto total = sum(over_all(axes), e);
    if constexpr (How == reduce_losses::sum)
      return named<What, T>(total, list<>{});
    else
      return named<What, T>(total / sum(over_all(axes), weight), list<>{});
  }
}

// -log of the chosen class's probability; the ids that are ignored are never used as a subscript.
template <loss_options O, fixed_string What, class Named, class T, class Y, class... W>
SHEAF_INLINE constexpr auto class_loss(T log_probability, Y target, W... class_weight) {
  using samples = sample_positions<T::rank>;
  constexpr unsigned set = 1u << class_dimension<T::rank>;
  const auto id = at(target, samples{});
  const auto counts = id != literal_<O.ignore>{};
  const auto weight = (literal_<1>{} * ... * class_weight(id));
  const auto chosen = -of_class(log_probability, id) * weight;
  const auto zero = literal_<0>{};
  if constexpr (O.smoothing == 0) {
    return reduced_losses<O.reduction, What, Named>(select(counts, chosen, zero), select(counts, weight, zero),
                                                    samples{});
  } else {
    constexpr auto c = position<class_dimension<T::rank>>{};
    const auto spread = fold<folding::sum, T, set>((-of_class(log_probability, c) * ... * class_weight(c))) /
                        extent_<T, class_dimension<T::rank>>{};
    const auto mixed = literal_<1 - O.smoothing>{} * chosen + literal_<O.smoothing>{} * spread;
    return reduced_losses<O.reduction, What, Named>(select(counts, mixed, zero), select(counts, weight, zero),
                                                    samples{});
  }
}

// What stands where class ids might be told from class probabilities by their rank alone.
template <class X, class Y>
struct probability_ : expression_base {
  static constexpr built build(builder& b) {
    const built p = b(decltype(at(Y{}, positions<Y::rank>{})){});
    if (!is_floating(b.g.type(p.id)))
      b.fail() << "cross_entropy: " << called<Y>() << " has the rank of " << called<X>()
               << ", so it holds class probabilities; it is " << row(b.g.type(p.id)).name
               << ", expected a floating type";
    return p;
  }
};
template <class X, class E, class... W>
SHEAF_INLINE constexpr auto weighted_by_class(E e, W... class_weight) {
  return (e * ... * class_weight(position<class_dimension<X::rank>>{}));
}
template <loss_options O, class X, class Given, class Spread>
SHEAF_INLINE constexpr auto mixed_with_spread(Given given, Spread spread) {
  if constexpr (O.smoothing == 0)
    return given;
  else
    return literal_<1 - O.smoothing>{} * given +
           literal_<O.smoothing>{} * spread / extent_<X, class_dimension<X::rank>>{};
}
// -sum over the classes of p log q. Every sample counts, so the mean is over all of them, whatever the weights, as in
// PyTorch.
template <loss_options O, class X, class Q, class Y, class... W>
SHEAF_INLINE constexpr auto probability_loss(Q log_probability, Y, W... class_weight) {
  using samples = sample_positions<X::rank>;
  constexpr unsigned set = 1u << class_dimension<X::rank>;
  const auto loss = -mixed_with_spread<O, X>(
      fold<folding::sum, X, set>(
          weighted_by_class<X>(probability_<X, Y>{} * element_of_all(log_probability), class_weight...)),
      fold<folding::sum, X, set>(weighted_by_class<X>(element_of_all(log_probability), class_weight...)));
  if constexpr (O.reduction == reduce_losses::mean && X::rank > 1)
    return named<"cross_entropy", X>(mean(over_all(samples{}), loss), list<>{});
  else
    return reduced_losses<O.reduction, "cross_entropy", X>(loss, literal_<1>{}, samples{});
}

template <reduce_losses How, fixed_string What, class X, class Y, class E>
SHEAF_INLINE constexpr auto pairwise_loss(E e) {
  using all = positions<X::rank>;
  if constexpr (How == reduce_losses::none)
    return named<What, X, Y>(e, all{});
  else if constexpr (X::rank == 0)
    return named<What, X, Y>(e, all{});
  else if constexpr (How == reduce_losses::sum)
    return named<What, X, Y>(sum(over_all(all{}), e), list<>{});
  else
    return named<What, X, Y>(mean(over_all(all{}), e), list<>{});
}
template <fixed_string What, class X, class Y>
SHEAF_INLINE constexpr bool expect_same_rank() {
  expect<(X::rank == Y::rank), [] {
    return sentence{} << What.text << ": " << called<X>() << " has rank " << X::rank << ", " << called<Y>()
                      << " has rank " << Y::rank;
  }>();
  return X::rank == Y::rank;
}

}  // namespace detail

// logits [N, C, ...] and class ids [N, ...], or [C] and a scalar. A third argument gives a weight to each class. The
// mean is over what counts: NaN where nothing does. A target of the shape of the logits holds class probabilities.
template <loss_options O = loss_options{}, Tensor T, Tensor Y, Tensor... W>
SHEAF_INLINE constexpr auto cross_entropy(T logits, Y target, W... class_weight) {
  static_assert(sizeof...(W) < 2, "cross_entropy: expected logits, class ids and a weight of each class");
  if constexpr (!detail::expect_targets<"cross_entropy", true, T, Y>())
    return detail::refused{};
  else if constexpr (Y::rank == T::rank)
    return detail::probability_loss<O, T>(log_softmax(logits, dim<detail::class_dimension<T::rank>>), target,
                                          class_weight...);
  else
    return detail::class_loss<O, "cross_entropy", T>(log_softmax(logits, dim<detail::class_dimension<T::rank>>), target,
                                                     class_weight...);
}
// The same of log probabilities and class ids.
template <loss_options O = loss_options{}, Tensor T, Tensor Y, Tensor... W>
SHEAF_INLINE constexpr auto nll_loss(T log_probability, Y target, W... class_weight) {
  static_assert(sizeof...(W) < 2, "nll_loss: expected log probabilities, class ids and a weight of each class");
  static_assert(O.smoothing == 0, "nll_loss: smoothing is an option of cross_entropy");
  if constexpr (detail::expect_targets<"nll_loss", false, T, Y>())
    return detail::class_loss<O, "nll_loss", T>(log_probability, target, class_weight...);
  else
    return detail::refused{};
}

template <reduce_losses How = reduce_losses::mean, Tensor X, Tensor Y>
SHEAF_INLINE constexpr auto mse_loss(X x, Y y) {
  if constexpr (detail::expect_same_rank<"mse_loss", X, Y>()) {
    const auto apart = detail::element_of_all(x) - detail::at(y, detail::positions<Y::rank>{});
    return detail::pairwise_loss<How, "mse_loss", X, Y>(apart * apart);
  } else {
    return detail::refused{};
  }
}
template <reduce_losses How = reduce_losses::mean, Tensor X, Tensor Y>
SHEAF_INLINE constexpr auto l1_loss(X x, Y y) {
  if constexpr (detail::expect_same_rank<"l1_loss", X, Y>())
    return detail::pairwise_loss<How, "l1_loss", X, Y>(
        abs(detail::element_of_all(x) - detail::at(y, detail::positions<Y::rank>{})));
  else
    return detail::refused{};
}

}  // namespace sheaf::inline v0_1
