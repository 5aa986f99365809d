// Windows over the last dimensions: unfold, avg_pool2d<pool{.kernel = {3, 3}, .stride = {2, 2}}>(x), max_pool,
// lp_pool, and pooling to a given size. A window is a reduction over its taps at an affine subscript. Shown by
// tests/numeric/familiar_windows.cpp.
#pragma once
#include <sheaf/dsl/sugar/slices.hpp>

namespace sheaf::inline v0_1 {

// Options of pooling, one number for each dimension, in order. As in PyTorch: a stride of 0 is the kernel's size, a
// dilation of 0 is 1; padding is at both ends, unless padding_end says another one for the far end; with
// ceil_mode a last window may hang over; count_include_pad counts padding in the mean.
struct pool {
  std::int64_t kernel[3] = {};
  std::int64_t stride[3] = {};
  std::int64_t padding[3] = {};
  std::int64_t padding_end[3] = {-1, -1, -1};  // -1: as padding
  std::int64_t dilation[3] = {};
  bool ceil_mode = false;
  bool count_include_pad = true;
  std::int64_t divisor_override = 0;
};

namespace detail {

struct window {
  std::int64_t kernel, stride, padding, dilation;
  bool ceil_mode;
  std::int64_t after;      // the padding at the far end
  bool lopsided = false;  // was it given by itself?
  constexpr std::int64_t span() const { return dilation * (kernel - 1) + 1; }
  // Can a tap fall outside the tensor?
  constexpr bool guarded() const { return padding > 0 || after > 0 || ceil_mode; }
  // PyTorch's rule; where the ends differ, that of ONNX: no window lies in padding alone.
  constexpr std::int64_t most_padding() const { return lopsided ? span() - 1 : kernel / 2; }
};
constexpr window window_of(const pool& p, int k) {
  const bool lopsided = p.padding_end[k] >= 0;
  return {p.kernel[k],
          p.stride[k] == 0 ? p.kernel[k] : p.stride[k],
          p.padding[k],
          p.dilation[k] == 0 ? 1 : p.dilation[k],
          p.ceil_mode,
          lopsided ? p.padding_end[k] : p.padding[k],
          lopsided};
}

// How many windows fit into a dimension; a mistake where none does, said by the compiler or by the call.
template <fixed_string What, class T, int D, window W>
struct windows_in : expression_base {
  static constexpr built build(builder& b) {
    graph& g = b.g;
    const node_id n = extent(g, T::node(b).id, D);
    const std::int64_t room = W.padding + W.after - W.span() + (W.ceil_mode ? W.stride - 1 : 0);
    node_id count = steps(g, n, room);
    // The last window begins within the tensor or the padding before it.
    if (W.ceil_mode) count = make(g, op::minimum, count, steps(g, n, W.padding - 1));
    if (is_constant(g, count) && g[count].attribute < 1)
      b.fail() << What.text << " of " << called<T>() << ": the kernel spans " << W.span() << " in dimension " << D
               << ", the padded input has " << g[n].attribute + W.padding + W.after;
    b.demand_not(make(g, op::less, count, integer(g, 1)), demanded::extents,
                 sentence{} << What.text << " of " << called<T>() << ", dimension " << D,
                 sentence{} << "at least " << W.span() << ", which the kernel spans, in the padded input", no_node,
                 make(g, op::add, n, integer(g, W.padding + W.after)));
    return {make(g, op::maximum, integer(g, 0), count), false};
  }

 private:
  static constexpr node_id steps(graph& g, node_id n, std::int64_t more) {
    return make(g, op::add, make(g, op::quotient, make(g, op::add, n, integer(g, more)), integer(g, W.stride)),
                integer(g, 1));
  }
};

template <window W>
inline constexpr bool moves = W.stride > 0 && W.dilation > 0;
template <window W>
inline constexpr bool is_window = W.kernel > 0 && moves<W> && W.padding >= 0 && W.padding <= W.most_padding() &&
                                  W.after <= W.most_padding();
template <fixed_string What, class T, int D, window W>
struct no_window {
  constexpr sentence operator()() const {
    sentence s;
    s << What.text << " of " << called<T>();
    if (W.kernel <= 0) return s << ": the kernel is " << W.kernel << " in dimension " << D << ", expected at least 1";
    if (!moves<W>)
      return s << ": stride " << W.stride << " and dilation " << W.dilation << " in dimension " << D
               << ", expected at least 1";
    return s << ": the padding is " << (W.padding < 0 || W.padding > W.after ? W.padding : W.after)
             << " in dimension " << D
             << (W.lopsided ? ", expected less than the span of " : ", expected at most half the kernel of ")
             << (W.lopsided ? W.span() : W.kernel);
  }
};

// Where the tap u of a window falls, and the domain of the taps within the tensor.
template <int D, window W>
SHEAF_INLINE constexpr auto tap() {
  return position<D>{} * number_<W.stride>{} - number_<W.padding>{} + inner<D>{} * number_<W.dilation>{};
}
template <class T, int D, window W>
SHEAF_INLINE constexpr auto taps() {
  constexpr inner<D> u{};
  if constexpr (W.guarded()) {
    const auto before =
        number_<W.padding>{} - position<D>{} * number_<W.stride>{};  // of the window, outside the tensor
    const auto after = before + extent_<T, D>{};
    constexpr number_<W.dilation> step{};
    constexpr number_<W.dilation - 1> up{};
    return u.in(maximum(number_<0>{}, quotient(before + up, step)),
                minimum(number_<W.kernel>{}, quotient(after + up, step)));
  } else {
    return u.in(number_<0>{}, number_<W.kernel>{});
  }
}
// What a window counts in a mean, along one dimension.
template <class T, int D, window W, bool Padding>
SHEAF_INLINE constexpr auto taps_counted() {
  constexpr extent_<T, D> n{};
  const auto begin = position<D>{} * number_<W.stride>{} - number_<W.padding>{};
  const auto end = begin + number_<W.kernel>{};
  if constexpr (!W.guarded() || (Padding && !W.ceil_mode))
    return number_<W.kernel>{};
  else if constexpr (Padding)
    return minimum(end, n + number_<W.after>{}) - begin;
  else
    return minimum(end, n) - maximum(begin, number_<0>{});
}

// The pieces of pooling over the last sizeof...(K) dimensions.
template <fixed_string What, pool P, class T, int First, std::size_t... K>
struct pooling {
  static constexpr bool fits =
      (expect<is_window<window_of(P, static_cast<int>(K))>,
              no_window<What, T, First + static_cast<int>(K), window_of(P, static_cast<int>(K))>{}>() &&
       ...);
  using front = picked<positions<T::rank>, (1u << First) - 1>;
  using subscripts =
      decltype(front{} + list<decltype(tap<First + static_cast<int>(K), window_of(P, static_cast<int>(K))>())...>{});
  using domain = decltype(over_all(
      list<decltype(taps<T, First + static_cast<int>(K), window_of(P, static_cast<int>(K))>())...>{}));
  using axes = decltype(
      front{} + list<sized_<position<First + static_cast<int>(K)>,
                            windows_in<What, T, First + static_cast<int>(K), window_of(P, static_cast<int>(K))>>...>{});
  SHEAF_INLINE static constexpr auto divisor() {
    if constexpr (P.divisor_override != 0)
      return number_<P.divisor_override>{};
    else
      return (taps_counted<T, First + static_cast<int>(K), window_of(P, static_cast<int>(K)), P.count_include_pad>() *
              ...);
  }
};
template <fixed_string What, pool P, class T, class Seq>
struct pooling_from;
template <fixed_string What, pool P, class T, std::size_t... K>
struct pooling_from<What, P, T, std::index_sequence<K...>> {
  using type = pooling<What, P, T, T::rank - static_cast<int>(sizeof...(K)), K...>;
};
template <fixed_string What, pool P, class T, int Dims>
using pooling_of = typename pooling_from<What, P, T, std::make_index_sequence<Dims>>::type;

template <fixed_string What, pool P, int Dims, class T>
SHEAF_INLINE constexpr auto average_pool(T t) {
  static_assert(P.dilation[0] == 0 && P.dilation[1] == 0 && P.dilation[2] == 0,
                "avg_pool: dilation is an option of max_pool and unfold");
  static_assert(P.divisor_override >= 0, "avg_pool: the divisor is positive");
  if constexpr (expect_rank_of_at_least<What, Dims, T>()) {
    using p = pooling_of<What, P, T, Dims>;
    if constexpr (p::fits) {
      const auto total = sum(typename p::domain{}, wide(at(t, typename p::subscripts{})));
      return named<What, T>(narrow(total / p::divisor(), element_of_all(t)), typename p::axes{});
    } else {
      return refused{};
    }
  } else {
    return refused{};
  }
}
template <fixed_string What, pool P, int Dims, class T>
SHEAF_INLINE constexpr auto maximum_pool(T t) {
  if constexpr (expect_rank_of_at_least<What, Dims, T>()) {
    using p = pooling_of<What, P, T, Dims>;
    if constexpr (p::fits)
      return named<What, T>(max(typename p::domain{}, at(t, typename p::subscripts{})), typename p::axes{});
    else
      return refused{};
  } else {
    return refused{};
  }
}
template <fixed_string What, auto Power, pool P, int Dims, class T>
SHEAF_INLINE constexpr auto power_pool(T t) {
  if constexpr (expect_rank_of_at_least<What, Dims, T>()) {
    using p = pooling_of<What, P, T, Dims>;
    if constexpr (p::fits) {
      const auto total = sum(typename p::domain{}, pow(wide(at(t, typename p::subscripts{})), literal_<Power>{}));
      const auto root = sign(total) * pow(abs(total), literal_<1.0 / Power>{});
      return named<What, T>(narrow(select(total != literal_<0>{}, root, literal_<0>{}), element_of_all(t)),
                            typename p::axes{});
    } else {
      return refused{};
    }
  } else {
    return refused{};
  }
}

// Window o of Size over an extent n: from floor(o n / size) to ceil((o + 1) n / size).
template <class T, int D, std::int64_t Size>
SHEAF_INLINE constexpr auto adaptive_taps() {
  constexpr extent_<T, D> n{};
  constexpr number_<Size> size{};
  constexpr inner<D> u{};
  constexpr position<D> o{};
  return u.in(quotient(o * n, size), quotient((o + number_<1>{}) * n + number_<Size - 1>{}, size));
}
template <fixed_string What, folding Kind, class T, std::int64_t... Size, std::size_t... K>
SHEAF_INLINE constexpr auto adaptive(T t, std::index_sequence<K...>) {
  constexpr int first = T::rank - static_cast<int>(sizeof...(Size));
  static_assert(((Size > 0) && ...), "adaptive pooling: its sizes are positive");
  using front = picked<positions<T::rank>, (1u << first) - 1>;
  using domain = decltype(over_all(list<decltype(adaptive_taps<T, first + static_cast<int>(K), Size>())...>{}));
  const auto e = at(t, front{} + list<inner<first + static_cast<int>(K)>...>{});
  return named<What, T>(reduce_<Kind, domain, std::remove_const_t<decltype(e)>>{},
                        front{} + list<sized_<position<first + static_cast<int>(K)>,
                                              provided_<What, T, first + static_cast<int>(K), 1, number_<Size>>>...>{});
}

}  // namespace detail

#define SHEAF_POOL(Dims)                                               \
  template <pool P, Tensor T>                                          \
  SHEAF_INLINE constexpr auto avg_pool##Dims##d(T t) {                 \
    return detail::average_pool<"avg_pool" #Dims "d", P, Dims>(t);     \
  }                                                                    \
  template <pool P, Tensor T>                                          \
  SHEAF_INLINE constexpr auto max_pool##Dims##d(T t) {                 \
    return detail::maximum_pool<"max_pool" #Dims "d", P, Dims>(t);     \
  }                                                                    \
  template <auto Power, pool P, Tensor T>                              \
  SHEAF_INLINE constexpr auto lp_pool##Dims##d(T t) {                  \
    return detail::power_pool<"lp_pool" #Dims "d", Power, P, Dims>(t); \
  }
// x is [..., D], [..., H, W] or [..., D, H, W]; what stands before is kept.
SHEAF_POOL(1)
SHEAF_POOL(2)
SHEAF_POOL(3)
#undef SHEAF_POOL

// adaptive_avg_pool<4, 4>(x): to this size of the last dimensions, whatever theirs.
template <std::int64_t... Size, Tensor T>
SHEAF_INLINE constexpr auto adaptive_avg_pool(T t) {
  if constexpr (detail::expect_rank_of_at_least<"adaptive_avg_pool", static_cast<int>(sizeof...(Size)), T>())
    return detail::adaptive<"adaptive_avg_pool", folding::mean, T, Size...>(
        t, std::make_index_sequence<sizeof...(Size)>{});
  else
    return detail::refused{};
}
template <std::int64_t... Size, Tensor T>
SHEAF_INLINE constexpr auto adaptive_max_pool(T t) {
  if constexpr (detail::expect_rank_of_at_least<"adaptive_max_pool", static_cast<int>(sizeof...(Size)), T>())
    return detail::adaptive<"adaptive_max_pool", folding::max, T, Size...>(t,
                                                                           std::make_index_sequence<sizeof...(Size)>{});
  else
    return detail::refused{};
}
// [N, C, ...] to [N, C]: the mean and the maximum of all that follows; keepdim keeps it as 1.
template <auto... O, Tensor T>
SHEAF_INLINE constexpr auto global_avg_pool(T t) {
  if constexpr (detail::expect_rank_of_at_least<"global_avg_pool", 3, T>()) {
    constexpr unsigned set = ((1u << T::rank) - 1) & ~3u;
    return detail::folded<"global_avg_pool", folding::mean, T, set, detail::keeps<O...>>(detail::element_of_all(t));
  } else {
    return detail::refused{};
  }
}
template <auto... O, Tensor T>
SHEAF_INLINE constexpr auto global_max_pool(T t) {
  if constexpr (detail::expect_rank_of_at_least<"global_max_pool", 3, T>()) {
    constexpr unsigned set = ((1u << T::rank) - 1) & ~3u;
    return detail::folded<"global_max_pool", folding::max, T, set, detail::keeps<O...>>(detail::element_of_all(t));
  } else {
    return detail::refused{};
  }
}

// unfold<3>(x, dim<0>), unfold<size, step, dilation>(x, dim<1>): the windows of a dimension, their places last.
template <std::int64_t Size, std::int64_t Step = 1, std::int64_t Dilation = 1, Tensor T, int D>
SHEAF_INLINE constexpr auto unfold(T t, dim_<D>) {
  if constexpr (detail::expect_dimensions<"unfold", T, D>()) {
    constexpr int d = detail::wrapped<T>(D);
    constexpr detail::window w{Size, Step, 0, Dilation, false, 0};
    if constexpr (expect<detail::is_window<w>, detail::no_window<"unfold", T, d, w>{}>()) {
      using from = decltype(detail::tap<d, w>());
      using axes = detail::replaced<detail::positions<T::rank>, d,
                                    sized_<detail::position<d>, detail::windows_in<"unfold", T, d, w>>>;
      return detail::named<"unfold", T>(detail::at(t, detail::replaced<detail::positions<T::rank>, d, from>{}),
                                        axes{} + detail::list<sized_<detail::inner<d>, literal_<Size>>>{});
    } else {
      return detail::refused{};
    }
  } else {
    return detail::refused{};
  }
}

}  // namespace sheaf::inline v0_1
