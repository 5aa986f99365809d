// Parts of tensors: slice(x, range<2, none, 3>, whole, at<-1>), diagonal, trace, tril, triu, band, flip, roll, pad.
// C++20's operator[] takes one argument, so a part of a tensor is a function's result. Shown by
// tests/numeric/familiar_slices.cpp.
#pragma once
#include <sheaf/dsl/sugar/products.hpp>

namespace sheaf::inline v0_1 {

// An open end of a range.
SHEAF_HIDDEN inline constexpr std::int64_t none = INT64_MIN;

template <std::int64_t Start, std::int64_t Stop, std::int64_t Step>
struct range_ {};
// start:stop:step as in Python: negative positions count from the end, ends beyond the tensor are cut off, a negative
// step goes backwards. range<none, none, -1> reverses.
template <std::int64_t Start, std::int64_t Stop = none, std::int64_t Step = 1>
SHEAF_HIDDEN inline constexpr auto range = range_<Start, Stop, Step>{};

struct whole_ {};
SHEAF_HIDDEN inline constexpr auto whole = whole_{};

template <std::int64_t K>
struct at_ {};
// One position, which takes its dimension away.
template <std::int64_t K>
SHEAF_HIDDEN inline constexpr auto at = at_<K>{};

namespace detail {

template <std::int64_t V>
using number_ = literal_<V>;

// Python's slice.indices, for an extent that is a number.
struct slice_numbers {
  std::int64_t start, length;
};
constexpr slice_numbers sliced(std::int64_t start, std::int64_t stop, std::int64_t step, std::int64_t n) {
  const std::int64_t lower = step > 0 ? 0 : -1, upper = step > 0 ? n : n - 1;
  const auto cut = [&](std::int64_t p) { return p < 0 ? (p + n < lower ? lower : p + n) : p > upper ? upper : p; };
  const std::int64_t first = start == none ? (step > 0 ? lower : upper) : cut(start);
  const std::int64_t last = stop == none ? (step > 0 ? upper : lower) : cut(stop);
  const std::int64_t span = step > 0 ? last - first : first - last, size = step > 0 ? step : -step;
  return {first, span > 0 ? (span + size - 1) / size : 0};
}
// The same for one that is known at run time.
template <class T, int D, std::int64_t P, std::int64_t Step>
SHEAF_INLINE constexpr auto slice_end() {
  constexpr extent_<T, D> n{};
  constexpr number_<(Step > 0 ? 0 : -1)> lower{};
  if constexpr (P >= 0 && Step > 0)
    return minimum(number_<P>{}, n);
  else if constexpr (P >= 0)
    return minimum(number_<P>{}, n - number_<1>{});
  else
    return maximum(n + number_<P>{}, lower);
}
template <class T, int D, std::int64_t Start, std::int64_t Step>
SHEAF_INLINE constexpr auto slice_start() {
  if constexpr (Start != none && Start != 0)
    return slice_end<T, D, Start, Step>();
  else if constexpr (Step > 0)
    return number_<0>{};
  else if constexpr (Start == none)
    return extent_<T, D>{} - number_<1>{};
  else
    return minimum(number_<0>{}, extent_<T, D>{} - number_<1>{});
}
template <class T, int D, std::int64_t Stop, std::int64_t Step>
SHEAF_INLINE constexpr auto slice_stop() {
  if constexpr (Stop != none)
    return slice_end<T, D, Stop, Step>();
  else if constexpr (Step > 0)
    return extent_<T, D>{};
  else
    return number_<-1>{};
}
template <class T, int D, std::int64_t Start, std::int64_t Stop, std::int64_t Step>
SHEAF_INLINE constexpr auto slice_length() {
  const auto first = slice_start<T, D, Start, Step>();
  const auto last = slice_stop<T, D, Stop, Step>();
  if constexpr (Step == 1)
    return maximum(number_<0>{}, last - first);
  else if constexpr (Step > 0)
    return maximum(number_<0>{}, quotient(last - first + number_<Step - 1>{}, number_<Step>{}));
  else
    return maximum(number_<0>{}, quotient(first - last + number_<-Step - 1>{}, number_<-Step>{}));
}

template <class Subscript, class Axes>
struct part {
  using subscript = Subscript;
  using axes = Axes;
};

template <class T, int D>
SHEAF_INLINE constexpr auto part_of(whole_) {
  return part<position<D>, list<position<D>>>{};
}
template <class T, int D, std::int64_t K>
SHEAF_INLINE constexpr auto part_of(at_<K>) {
  constexpr std::int64_t n = static_extent(T{}, D);
  expect<(n < 0 || (K >= -n && K < n)), [] {
    return sentence{} << "slice of " << called<T>() << ": position " << K << " in dimension " << D
                      << " is out of range, its extent is " << static_extent(T{}, D);
  }>();
  if constexpr (K >= 0)
    return part<number_<K>, list<>>{};
  else
    return part<decltype(extent_<T, D>{} + number_<K>{}), list<>>{};
}
template <class T, int D, std::int64_t Start, std::int64_t Stop, std::int64_t Step>
SHEAF_INLINE constexpr auto part_of(range_<Start, Stop, Step>) {
  static_assert(Step != 0, "slice: the step of a range is 0");
  constexpr bool comparable = Start != none && Stop != none && (Start < 0) == (Stop < 0);
  constexpr std::int64_t length = !comparable ? 0 : Step > 0 ? Stop - Start : Start - Stop;
  expect<(!comparable || length >= 0), [] {
    return sentence{} << "slice of " << called<T>() << ": range " << Start << " to " << Stop << " in dimension " << D
                      << " has negative length " << length;
  }>();
  if constexpr (Step == 0 || (comparable && length < 0)) {
    return part_of<T, D>(whole);
  } else if constexpr (static_extent(T{}, D) >= 0) {
    constexpr slice_numbers s = sliced(Start, Stop, Step, static_extent(T{}, D));
    return part<decltype(number_<s.start>{} + number_<Step>{} * position<D>{}),
                list<sized_<position<D>, number_<s.length>>>>{};
  } else {
    return part<decltype(slice_start<T, D, Start, Step>() + number_<Step>{} * position<D>{}),
                list<sized_<position<D>, decltype(slice_length<T, D, Start, Stop, Step>())>>>{};
  }
}
template <class T, int D, class P>
SHEAF_INLINE constexpr auto part_of(P) {
  static_assert(sizeof(P) == 0, "slice: expected range<start, stop, step>, at<position> or whole for each dimension");
  return part_of<T, D>(whole);
}

template <class T, class... Part>
SHEAF_INLINE constexpr auto sliced_by(T t, list<Part...>) {
  return named<"slice", T>(t(typename Part::subscript{}...), (list<>{} + ... + typename Part::axes{}));
}
template <class T, class... P, std::size_t... I, std::size_t... Rest>
SHEAF_INLINE constexpr auto sliced_parts(T t, list<P...>, std::index_sequence<I...>, std::index_sequence<Rest...>) {
  constexpr int given = sizeof...(P);
  return sliced_by(t, list<decltype(part_of<T, static_cast<int>(I)>(P{}))...,
                           decltype(part_of<T, given + static_cast<int>(Rest)>(whole))...>{});
}

// pad, where it reads within the tensor whatever the position.
template <int D, class T, class E, class Axes>
SHEAF_INLINE constexpr auto taken_at(T t, E, Axes axes) {
  return named<"pad", T>(at(t, replaced<positions<T::rank>, D, E>{}), axes);
}

// The last two dimensions.
template <int Rank>
using row_axis = position<Rank - 2>;
template <int Rank>
using column_axis = position<Rank - 1>;

}  // namespace detail

// slice(x, range<2, 5>): a part of each dimension in order; those not named are whole.
template <Tensor T, class... P>
SHEAF_INLINE constexpr auto slice(T t, P...) {
  expect<(sizeof...(P) <= T::rank), [] {
    return detail::sentence{} << "slice of " << detail::called<T>() << ": its rank is " << T::rank << ", got "
                              << static_cast<int>(sizeof...(P)) << " parts";
  }>();
  if constexpr (sizeof...(P) <= T::rank)
    return detail::sliced_parts(t, detail::list<P...>{}, std::index_sequence_for<P...>{},
                                std::make_index_sequence<T::rank - sizeof...(P)>{});
  else
    return detail::refused{};
}

// diagonal<1>(x): x(i, i + 1, ...) with the diagonal as the last dimension.
template <std::int64_t Offset = 0, Tensor T>
SHEAF_INLINE constexpr auto diagonal(T t) {
  if constexpr (detail::expect_rank_of_at_least<"diagonal", 2, T>()) {
    constexpr literal_<(Offset < 0 ? -Offset : std::int64_t{0})> down{};
    constexpr literal_<(Offset > 0 ? Offset : std::int64_t{0})> right{};
    constexpr auto i = detail::position<0>{};
    using rest = detail::picked<detail::positions<T::rank>, ((1u << T::rank) - 1) & ~3u>;
    const auto length = maximum(literal_<std::int64_t{0}>{}, minimum(extent_<T, 0>{} - down, extent_<T, 1>{} - right));
    using first_two = detail::list<decltype(i + down), decltype(i + right)>;
    return detail::named<"diagonal", T>(
        detail::at(t, first_two{} + rest{}),
        rest{} + detail::list<sized_<detail::position<0>, std::remove_const_t<decltype(length)>>>{});
  } else {
    return detail::refused{};
  }
}
template <std::int64_t Offset = 0, Tensor T>
SHEAF_INLINE constexpr auto trace(T t) {
  if constexpr (detail::expect_rank_of<"trace", 2, T>())
    return sum(diagonal<Offset>(t));
  else
    return detail::refused{};
}

// band<1, 0>(x): x where -1 <= column - row <= 0 in the last two dimensions, else 0.
template <std::int64_t Below, std::int64_t Above, Tensor T>
SHEAF_INLINE constexpr auto band(T t) {
  static_assert(Below != none || Above != none, "band: one of its sides is given");
  if constexpr (detail::expect_rank_of_at_least<"band", 2, T>()) {
    constexpr detail::row_axis<T::rank> r{};
    constexpr detail::column_axis<T::rank> c{};
    const auto e = detail::element_of_all(t);
    constexpr literal_<0> zero{};
    using all = detail::positions<T::rank>;
    if constexpr (Below == none)
      return detail::named<"tril", T>(select(c <= r + literal_<Above>{}, e, zero), all{});
    else if constexpr (Above == none)
      return detail::named<"triu", T>(select(r - literal_<Below>{} <= c, e, zero), all{});
    else
      return detail::named<"band", T>(select(r - literal_<Below>{} <= c && c <= r + literal_<Above>{}, e, zero), all{});
  } else {
    return detail::refused{};
  }
}
// The part on and below the k-th diagonal, and on and above it.
template <std::int64_t K = 0, Tensor T>
SHEAF_INLINE constexpr auto tril(T t) {
  return band<none, K>(t);
}
template <std::int64_t K = 0, Tensor T>
SHEAF_INLINE constexpr auto triu(T t) {
  return band<-K, none>(t);
}

template <Tensor T, int D>
SHEAF_INLINE constexpr auto flip(T t, dim_<D>) {
  if constexpr (detail::expect_dimensions<"flip", T, D>()) {
    constexpr int d = detail::wrapped<T>(D);
    using back = decltype(extent_<T, d>{} - literal_<std::int64_t{1}>{} - detail::position<d>{});
    return detail::named<"flip", T>(
        detail::at(t, detail::replaced<detail::positions<T::rank>, d, back>{}),
        detail::replaced<detail::positions<T::rank>, d, sized_<detail::position<d>, extent_<T, d>>>{});
  } else {
    return detail::refused{};
  }
}
// roll<2>(x, dim<0>): moved on by two, what leaves at the end comes in at the start.
template <std::int64_t Shift, Tensor T, int D>
SHEAF_INLINE constexpr auto roll(T t, dim_<D>) {
  if constexpr (detail::expect_dimensions<"roll", T, D>()) {
    constexpr int d = detail::wrapped<T>(D);
    using from = decltype(remainder(detail::position<d>{} - literal_<Shift>{}, extent_<T, d>{}));
    return detail::named<"roll", T>(
        detail::at(t, detail::replaced<detail::positions<T::rank>, d, from>{}),
        detail::replaced<detail::positions<T::rank>, d, sized_<detail::position<d>, extent_<T, d>>>{});
  } else {
    return detail::refused{};
  }
}

enum class padding : std::uint8_t { constant, reflect, replicate, circular };

// pad<1, 2>(x, dim<0>), pad<1, 1, padding::reflect>(x, dim<-1>), pad<0, 3, padding::constant, -1.0>(x, dim<1>).
template <std::int64_t Before, std::int64_t After, padding Mode = padding::constant, auto Value = 0, Tensor T, int D>
SHEAF_INLINE constexpr auto pad(T t, dim_<D>) {
  static_assert(Before >= 0 && After >= 0, "pad: its widths are not negative; slice takes away");
  if constexpr (detail::expect_dimensions<"pad", T, D>()) {
    constexpr int d = detail::wrapped<T>(D);
    constexpr std::int64_t n = detail::static_extent(T{}, d), most = Before > After ? Before : After;
    expect<(Mode != padding::reflect || n < 0 || most < n), [] {
      return detail::sentence{} << "pad of " << detail::called<T>() << ": reflecting "
                                << (Before > After ? Before : After) << " in dimension " << detail::wrapped<T>(D)
                                << " needs an extent above it, got "
                                << detail::static_extent(T{}, detail::wrapped<T>(D));
    }>();
    constexpr literal_<std::int64_t{0}> zero{};
    constexpr extent_<T, d> size{};
    constexpr literal_<std::int64_t{1}> one{};
    const auto from = detail::position<d>{} - literal_<Before>{};
    using axes = detail::replaced<detail::positions<T::rank>, d,
                                  sized_<detail::position<d>, decltype(size + literal_<Before + After>{})>>;
    using reflected_axes =
        detail::replaced<detail::positions<T::rank>, d,
                         sized_<detail::position<d>,
                                detail::provided_<"pad", T, d, most + 1, decltype(size + literal_<Before + After>{})>>>;
    if constexpr (Mode == padding::constant) {
      const auto element =
          detail::at(t, detail::replaced<detail::positions<T::rank>, d, std::remove_const_t<decltype(from)>>{});
      return detail::named<"pad", T>(select(zero <= from && from < size, element, literal_<Value>{}), axes{});
    } else if constexpr (Mode == padding::reflect) {
      return detail::taken_at<d>(t, size - one - abs(size - one - abs(from)), reflected_axes{});
    } else if constexpr (Mode == padding::replicate) {
      return detail::taken_at<d>(t, minimum(maximum(from, zero), size - one), axes{});
    } else {
      return detail::taken_at<d>(t, remainder(from, size), axes{});
    }
  } else {
    return detail::refused{};
  }
}

}  // namespace sheaf::inline v0_1
