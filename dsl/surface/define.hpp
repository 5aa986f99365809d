// Definitions: named intermediates that are tensors themselves.
#pragma once
#include <sheaf/dsl/surface/fold.hpp>

namespace sheaf::inline v0_1 {

template <fixed_string Name, SHEAF_BODY Body, class... Axes>
struct definition_ : subscripts<definition_<Name, Body, Axes...>> {
  using subscripts<definition_>::operator=;
  static constexpr auto label = Name;
  static constexpr int rank = sizeof...(Axes);
  static constexpr built node(builder& b) {
    return {b.tensor_of(&type_tag<definition_>, [](builder& c) { return make_node(c); })};
  }

 private:
  static constexpr node_id make_node(builder& b) {
    const bound_axis axes[rank + 1] = {Axes::bind(b)...};
    return b.definition(b.name(Name.text, Name.length()), b(detail::expression_in<Body>{}).id, axes, rank);
  }
};

namespace detail {

template <fixed_string Name, class... Axes>
struct definition_head {
  static constexpr auto head = Name;
  template <class E>
    requires(Expression<E> || Number<E>)
  SHEAF_INLINE constexpr auto operator=(const E&) const {
    if constexpr (is_value<E>)
      return definition_<Name, SHEAF_BODY_OF(E), Axes...>{};
    else
      return refuse<E>();
  }
};

}  // namespace detail

namespace detail {

// An axis, or one with its size: t.in(0_c, n).
template <class>
constexpr bool is_axis = false;
template <fixed_string Name, std::int64_t Size>
constexpr bool is_axis<axis_<Name, Size>> = true;
template <class Axis, class High>
constexpr bool is_axis<domain_<Axis, literal_<std::int64_t{0}>, High, nothing, nothing>> = true;

// How often each label stands among the indices is once.
template <class... Axes>
constexpr const char* repeated_index() {
  const char* const names[sizeof...(Axes) + 1] = {Axes::label.text...};
  const auto same = [](const char* a, const char* b) {
    for (; *a != 0 && *a == *b; ++a) ++b;
    return *a == *b;
  };
  for (std::size_t i = 0; i < sizeof...(Axes); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (same(names[i], names[j])) return names[i];
  return nullptr;
}

template <fixed_string Name, class... Axes>
constexpr bool expect_indices() {
  static_assert(sizeof...(Axes) <= max_rank, "define: at most 8 indices");
  static_assert(
      (is_axis<Axes> && ... && true),
      "define: its indices are axes, or axes with a size such as t.in(0_c, n); other domains stand in a reduction");
  if constexpr ((is_axis<Axes> && ... && true)) {
    expect<repeated_index<Axes...>() == nullptr, [] {
      return sentence{} << "definition " << Name.text << ": index " << repeated_index<Axes...>()
                        << " stands twice among its indices";
    }>();
    return repeated_index<Axes...>() == nullptr;
  }
  return false;
}
// What follows after a mistake in the indices.
struct refused_head {
  template <class E>
  SHEAF_INLINE constexpr auto operator=(const E&) const {
    return detail::refused{};
  }
};

}  // namespace detail

// define<"pooled">(m, f) = mean(t, x(m, t, f)): a tensor of the extents of m and f, in this order. An index that
// subscripts nothing directly is given its size: define<"running">(t.in(0_c, extent(x, dim<0>))) = sum(s.in(0_c, t +
// 1_c), x(s)).
template <fixed_string Name, class... Axes>
SHEAF_INLINE constexpr auto define(Axes...) {
  if constexpr (detail::expect_indices<Name, Axes...>())
    return detail::definition_head<Name, Axes...>{};
  else
    return detail::refused_head{};
}
template <class... Axes>
requires(detail::is_axis<Axes>&&...)  // another define, of graphs, has a name
SHEAF_INLINE constexpr auto define(Axes...) {
  expect<(sizeof...(Axes) > max_rank), [] {
    return detail::sentence{} << "define: a definition has a name, as in define<\"y\">(i) = expression";
  }>();
  return detail::refused_head{};
}

}  // namespace sheaf::inline v0_1
