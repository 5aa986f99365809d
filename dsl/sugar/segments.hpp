// Groups of rows and gathered rows: segment_mean(x, offsets(cut)), embedding_bag, take_along_axis, index_select,
// scatter_add. Indices that are data, so their gradients gather or scatter as the data has it. Shown by
// tests/numeric/familiar_segments.cpp.
#pragma once
#include <sheaf/dsl/sugar/windows.hpp>

namespace sheaf::inline v0_1 {

template <class T>
struct offsets_ {};
// Segment s is [off(s), off(s + 1)), as in CSR: one offset more than segments. An error where one is less than that
// before.
template <Tensor T>
SHEAF_INLINE constexpr auto offsets(T) {
  static_assert(T::rank == 1, "offsets: expected a tensor of rank 1, one offset more than segments");
  return offsets_<T>{};
}
template <class T>
struct bounds_ {};
// Segment s is [cut(s, 0), cut(s, 1)): they may overlap and leave gaps; one that ends before it begins is empty, as in
// Python.
template <Tensor T>
SHEAF_INLINE constexpr auto bounds(T) {
  static_assert(T::rank == 2, "bounds: expected a tensor of rank 2, a begin and an end in each row");
  return bounds_<T>{};
}

namespace detail {

template <class Domain, class Axis>
struct segmentation {
  using domain = Domain;
  using axis = Axis;
};
template <class E>
using plain = std::remove_const_t<E>;

// How many segments a list of offsets has. Offsets that go down are a mistake of the call, as a list of none is; of
// bags, as in PyTorch, also those that don't begin at 0 or end beyond the ids.
template <class T, class Ids = nothing>
struct segments_in : expression_base {
  static constexpr built build(builder& b) {
    graph& g = b.g;
    const sentence operation = sentence{} << "offsets " << called<T>();
    const node_id off = T::node(b).id, count = make(g, op::sub, extent(g, off, 0), integer(g, 1));
    b.demand_not(make(g, op::less, count, integer(g, 0)), demanded::extents, operation,
                 sentence{} << "at least one, the end of the last segment", no_node, extent(g, off, 0));
    const node_id s = index(g, g.name("s", 1), 0, integer(g, 0), count), next = make(g, op::add, s, integer(g, 1));
    const node_id begin = load(g, off, &s, 1), end = load(g, off, &next, 1);
    const node_id list[3] = {make(g, op::less, end, begin), truth(g, true), s};
    b.demand_not(g.intern(op::reduce, element::boolean, static_cast<std::int64_t>(monoid::any), list, 3),
                 demanded::data, operation, sentence{} << "none that goes down: at least", begin, end);
    if constexpr (!std::is_same_v<Ids, nothing>) {
      const node_id zero = integer(g, 0), first = load(g, off, &zero, 1), last = load(g, off, &count, 1);
      const node_id ids = extent(g, Ids::node(b).id, 0), any = make(g, op::less_equal, zero, count);
      b.demand_not(conjunction(g, any, make(g, op::not_equal, first, zero)), demanded::data, operation,
                   sentence{} << "a first one of 0", no_node, first);
      b.demand_not(conjunction(g, any, make(g, op::less, ids, last)), demanded::data, operation,
                   sentence{} << "a last one within " << called<Ids>() << ": at most", ids, last);
    }
    return {count, false};
  }
};

// The rows of segment i0: a domain of the axis u0.
template <class Ids = nothing, class T>
SHEAF_INLINE constexpr auto segments_of(offsets_<T>) {
  constexpr position<0> s{};
  constexpr number_<1> one{};
  using domain = decltype(inner<0>{}.in(T{}(s), T{}(s + one)));
  return segmentation<domain, sized_<position<0>, segments_in<T, Ids>>>{};
}
template <class T>
SHEAF_INLINE constexpr auto segments_of(bounds_<T>) {
  constexpr position<0> s{};
  using domain = decltype(inner<0>{}.in(T{}(s, number_<0>{}), T{}(s, number_<1>{})));
  return segmentation<domain, position<0>>{};
}
template <class T, class Count>
SHEAF_INLINE constexpr auto segments_by_id() {
  using domain = decltype(inner<0>{}.where(T{}(inner<0>{}) == position<0>{}));
  return segmentation<domain, sized_<position<0>, Count>>{};
}

template <fixed_string What, folding Kind, class X, class Segments>
SHEAF_INLINE constexpr auto segment_fold(X x, Segments) {
  if constexpr (expect_rank_of_at_least<What, 1, X>()) {
    const auto e = at(x, replaced<positions<X::rank>, 0, inner<0>>{});
    return named<What, X>(reduce_<Kind, typename Segments::domain, plain<decltype(e)>>{},
                          replaced<positions<X::rank>, 0, typename Segments::axis>{});
  } else {
    return refused{};
  }
}
// Of an input: the element type of a definition is not known here.
template <fixed_string What, class T>
SHEAF_INLINE constexpr bool expect_integers() {
  if constexpr (has_value_type<T>) {
    constexpr element type = element_of<typename T::value_type>;
    return expect<is_integer(type), [] {
      return sentence{} << What.text << ": the ids " << called<T>() << " are " << row(type).name
                        << ", expected integers";
    }>();
  }
  return true;
}
template <fixed_string What, class T>
SHEAF_INLINE constexpr bool expect_ids() {
  expect<(T::rank == 1), [] {
    return sentence{} << What.text << ": the segment ids " << called<T>() << " have rank " << T::rank
                      << ", expected 1";
  }>();
  if constexpr (T::rank == 1) return expect_integers<What, T>();
  return false;
}

}  // namespace detail

// segment_sum(x, offsets(off)), segment_sum(x, bounds(cut)): of the rows of each segment. By ids, one for each row,
// sorted or not: segment_sum<8>(x, ids), or segment_sum(x, ids, y.extent(dim<0>)). Rows whose id is outside count
// nowhere.
#define SHEAF_SEGMENT(name, kind)                                                                         \
  template <Tensor X, class T>                                                                            \
  SHEAF_INLINE constexpr auto name(X x, offsets_<T> o) {                                                  \
    return detail::segment_fold<#name, folding::kind>(x, detail::segments_of(o));                         \
  }                                                                                                       \
  template <Tensor X, class T>                                                                            \
  SHEAF_INLINE constexpr auto name(X x, bounds_<T> c) {                                                   \
    return detail::segment_fold<#name, folding::kind>(x, detail::segments_of(c));                         \
  }                                                                                                       \
  template <std::int64_t Count, Tensor X, Tensor T>                                                       \
  SHEAF_INLINE constexpr auto name(X x, T) {                                                              \
    if constexpr (detail::expect_ids<#name, T>())                                                         \
      return detail::segment_fold<#name, folding::kind>(x, detail::segments_by_id<T, literal_<Count>>()); \
    else                                                                                                  \
      return detail::refused{};                                                                          \
  }                                                                                                       \
  template <Tensor X, Tensor T, Expression Count>                                                         \
  SHEAF_INLINE constexpr auto name(X x, T, Count) {                                                       \
    if constexpr (detail::expect_ids<#name, T>())                                                         \
      return detail::segment_fold<#name, folding::kind>(x, detail::segments_by_id<T, Count>());           \
    else                                                                                                  \
      return detail::refused{};                                                                          \
  }
SHEAF_SEGMENT(segment_sum, sum)
SHEAF_SEGMENT(segment_mean, mean)
SHEAF_SEGMENT(segment_max, max)
SHEAF_SEGMENT(segment_min, min)
SHEAF_SEGMENT(segment_prod, prod)
SHEAF_SEGMENT(segment_logsumexp, logsumexp)
#undef SHEAF_SEGMENT

namespace detail {

// Of each segment, the largest, which is of no consequence in the gradient, and the sum of exp(x - largest).
template <class Segments, class X>
SHEAF_INLINE constexpr auto segment_top(X x) {
  const auto e = wide(at(x, replaced<positions<X::rank>, 0, inner<0>>{}));
  return named<"segment_top", X>(stop_gradient(max(typename Segments::domain{}, e)),
                                 replaced<positions<X::rank>, 0, typename Segments::axis>{});
}
template <class Segments, class X>
SHEAF_INLINE constexpr auto segment_total(X x) {
  const auto e = wide(at(x, replaced<positions<X::rank>, 0, inner<0>>{}));
  return named<"segment_total", X>(
      sum(typename Segments::domain{}, exp(e - at(segment_top<Segments>(x), positions<X::rank>{}))),
      replaced<positions<X::rank>, 0, typename Segments::axis>{});
}
// The share that row i0 has of a segment.
template <class Segments, class X, class S>
SHEAF_INLINE constexpr auto segment_share(X x, S) {
  using in = replaced<positions<X::rank>, 0, S>;
  return exp(wide(element_of_all(x)) - at(segment_top<Segments>(x), in{})) / at(segment_total<Segments>(x), in{});
}
template <class Segments, class X, class Id, class Count>
SHEAF_INLINE constexpr auto segment_softmax_by_id(X x, Id id, Count count) {
  constexpr literal_<0> zero{};
  const auto share = select(zero <= id && id < count, segment_share<Segments>(x, id), zero);
  return named<"segment_softmax", X>(narrow(share, element_of_all(x)), positions<X::rank>{});
}

}  // namespace detail

// The softmax of the rows of each segment, each column by itself: segment_softmax(x, offsets(off)),
// segment_softmax<8>(x, ids), segment_softmax(x, ids, y.extent(dim<0>)). Rows of no segment are 0.
template <Tensor X, class T>
SHEAF_INLINE constexpr auto segment_softmax(X x, offsets_<T> o) {
  if constexpr (detail::expect_rank_of_at_least<"segment_softmax", 1, X>()) {
    using segments = decltype(detail::segments_of(o));
    constexpr detail::position<0> t{};
    constexpr detail::inner<0> s{};
    constexpr detail::number_<1> one{};
    const auto mine = s.in(detail::number_<0>{}, extent_<T, 0>{} - one).where(T{}(s) <= t && t < T{}(s + one));
    const auto share = sum(mine, detail::segment_share<segments>(x, s));
    return detail::named<"segment_softmax", X>(detail::narrow(share, detail::element_of_all(x)),
                                               detail::positions<X::rank>{});
  } else {
    return detail::refused{};
  }
}
template <std::int64_t Count, Tensor X, Tensor T>
SHEAF_INLINE constexpr auto segment_softmax(X x, T ids) {
  if constexpr (detail::expect_ids<"segment_softmax", T>())
    return detail::segment_softmax_by_id<decltype(detail::segments_by_id<T, literal_<Count>>())>(
        x, ids(detail::position<0>{}), literal_<Count>{});
  else
    return detail::refused{};
}
template <Tensor X, Tensor T, Expression Count>
SHEAF_INLINE constexpr auto segment_softmax(X x, T ids, Count count) {
  if constexpr (detail::expect_ids<"segment_softmax", T>())
    return detail::segment_softmax_by_id<decltype(detail::segments_by_id<T, Count>())>(x, ids(detail::position<0>{}),
                                                                                       count);
  else
    return detail::refused{};
}

enum class bag_mode : std::uint8_t { sum, mean, max };
// Options of embedding_bag: what is made of a bag; an id that counts nothing.
struct bag {
  bag_mode mode = bag_mode::mean;
  std::int64_t padding = none;
};

namespace detail {

// Of the picks of a bag: id(k) over a domain of k with n elements, with a weight each. An empty bag is 0, as in
// PyTorch.
template <bag B, class Table, class Domain, class Count, class Id, class Axis, class... Weight>
SHEAF_INLINE constexpr auto bag_of(Table table, Domain domain, Count n, Id id, Axis, Weight... weight) {
  constexpr position<1> f{};
  static_assert(sizeof...(Weight) == 0 || B.mode == bag_mode::sum,
                "embedding_bag: weights of each sample go with mode sum, as in PyTorch");
  const auto e = (wide(table(id, f)) * ... * weight);
  constexpr literal_<0> zero{};
  using axes = list<Axis, position<1>>;
  if constexpr (B.mode == bag_mode::sum)
    return named<"embedding_bag", Table>(narrow(sum(domain, e), (table(id, f) * ... * weight)), axes{});
  else if constexpr (B.mode == bag_mode::mean)
    return named<"embedding_bag", Table>(narrow(sum(domain, e) / maximum(n, number_<1>{}), table(id, f)), axes{});
  else
    return named<"embedding_bag", Table>(select(n > zero, max(domain, table(id, f)), zero), axes{});
}
template <bag B, class Domain, class Id>
SHEAF_INLINE constexpr auto without_padding(Domain domain, Id id) {
  if constexpr (B.padding == none)
    return domain;
  else
    return domain.where(id != literal_<B.padding>{});
}

}  // namespace detail

// Ids [bags, k], or [n] cut into bags by offsets(off); a table [ids, features]; with mode sum, optional weights shaped
// as the ids.
template <bag B = bag{}, Tensor Ids, Tensor Table, Tensor... Weights>
SHEAF_INLINE constexpr auto embedding_bag(Ids ids, Table table, Weights... weights) {
  if constexpr (detail::expect_rank_of<"embedding_bag: ids", 2, Ids>() &&
                detail::expect_rank_of<"embedding_bag: table", 2, Table>()) {
    constexpr detail::position<0> s{};
    constexpr detail::inner<0> k{};
    const auto id = ids(s, k);
    if constexpr (B.padding == none)
      return detail::bag_of<B>(table, k, extent_<Ids, 1>{}, id, s, weights(s, k)...);
    else
      return detail::bag_of<B>(table, k.where(id != literal_<B.padding>{}), count(k, id != literal_<B.padding>{}), id,
                               s, weights(s, k)...);
  } else {
    return detail::refused{};
  }
}
template <bag B = bag{}, Tensor Ids, Tensor Table, class Off, Tensor... Weights>
SHEAF_INLINE constexpr auto embedding_bag(Ids ids, Table table, offsets_<Off> off, Weights... weights) {
  if constexpr (detail::expect_rank_of<"embedding_bag: ids", 1, Ids>() &&
                detail::expect_rank_of<"embedding_bag: table", 2, Table>()) {
    using cut = decltype(detail::segments_of<Ids>(off));
    constexpr detail::inner<0> k{};
    const auto id = ids(k);
    const auto domain = detail::without_padding<B>(typename cut::domain{}, id);
    return detail::bag_of<B>(table, domain, sum(domain, literal_<std::int64_t{1}>{}), id, typename cut::axis{},
                             weights(k)...);
  } else {
    return detail::refused{};
  }
}

namespace detail {

template <fixed_string What, class X, class I>
SHEAF_INLINE constexpr bool expect_index_rank() {
  expect<(X::rank == I::rank), [] {
    return sentence{} << What.text << ": " << called<X>() << " has rank " << X::rank << ", the indices "
                      << called<I>() << " have rank " << I::rank;
  }>();
  return X::rank == I::rank;
}

}  // namespace detail

// y(i, j) = x(index(i, j), j) along dimension 0, and so on; torch.gather under NumPy's name.
template <Tensor X, Tensor I, int D>
SHEAF_INLINE constexpr auto take_along_axis(X x, I index, dim_<D>) {
  if constexpr (detail::expect_dimensions<"take_along_axis", X, D>() &&
                detail::expect_index_rank<"take_along_axis", X, I>()) {
    constexpr int d = detail::wrapped<X>(D);
    const auto picked = detail::element_of_all(index);
    return detail::named<"take_along_axis", X>(
        detail::at(x, detail::replaced<detail::positions<X::rank>, d, detail::plain<decltype(picked)>>{}),
        detail::positions<X::rank>{});
  } else {
    return detail::refused{};
  }
}
// The rows of x (or whatever stands in the dimension) that a list of indices names.
template <Tensor X, Tensor I, int D>
SHEAF_INLINE constexpr auto index_select(X x, I index, dim_<D>) {
  if constexpr (detail::expect_dimensions<"index_select", X, D>() &&
                detail::expect_rank_of<"index_select: indices", 1, I>()) {
    constexpr int d = detail::wrapped<X>(D);
    const auto picked = index(detail::position<d>{});
    return detail::named<"index_select", X>(
        detail::at(x, detail::replaced<detail::positions<X::rank>, d, detail::plain<decltype(picked)>>{}),
        detail::positions<X::rank>{});
  } else {
    return detail::refused{};
  }
}
namespace detail {
template <class X, class E>
SHEAF_INLINE constexpr auto added_to(X x, E added) {
  return narrow(wide(element_of_all(x)) + added, element_of_all(x));
}
}  // namespace detail

// x, and to each of its rows those rows of the source whose index names it.
template <Tensor X, Tensor I, Tensor S, int D>
SHEAF_INLINE constexpr auto index_add(X x, I index, S source, dim_<D>) {
  if constexpr (detail::expect_dimensions<"index_add", X, D>() &&
                detail::expect_rank_of<"index_add: indices", 1, I>() &&
                detail::expect_index_rank<"index_add", X, S>()) {
    constexpr int d = detail::wrapped<X>(D);
    constexpr detail::inner<0> k{};
    const auto added =
        sum(k.where(index(k) == detail::position<d>{}),
            detail::wide(detail::at(source, detail::replaced<detail::positions<X::rank>, d, detail::inner<0>>{})));
    return detail::named<"index_add", X>(detail::added_to(x, added), detail::positions<X::rank>{});
  } else {
    return detail::refused{};
  }
}
// x(index(i, j), j) += source(i, j) along dimension 0, and so on: repeated indices add up.
template <Tensor X, Tensor I, Tensor S, int D>
SHEAF_INLINE constexpr auto scatter_add(X x, I index, S source, dim_<D>) {
  if constexpr (detail::expect_dimensions<"scatter_add", X, D>() && detail::expect_index_rank<"scatter_add", X, I>() &&
                detail::expect_index_rank<"scatter_add", X, S>()) {
    constexpr int d = detail::wrapped<X>(D);
    constexpr detail::inner<0> k{};
    using from = detail::replaced<detail::positions<X::rank>, d, detail::inner<0>>;
    const auto added =
        sum(k.where(detail::at(index, from{}) == detail::position<d>{}), detail::wide(detail::at(source, from{})));
    return detail::named<"scatter_add", X>(detail::added_to(x, added), detail::positions<X::rank>{});
  } else {
    return detail::refused{};
  }
}

}  // namespace sheaf::inline v0_1
