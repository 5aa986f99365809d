// Definitions: named intermediates that are tensors themselves.
#pragma once
#include <sheaf/dsl/surface/reduction.hpp>

namespace sheaf {

template <fixed_string Name, class E, class... Axes>
struct definition_ : subscripts<definition_<Name, E, Axes...>> {
  using subscripts<definition_>::operator=;
  static constexpr auto label = Name;
  static constexpr int rank = sizeof...(Axes);
  static constexpr built node(builder& b) { return {b.tensor_of(&type_tag<definition_>, [](builder& c) { return make_node(c); })}; }

 private:
  static constexpr node_id make_node(builder& b) {
    const node_id axes[rank + 1] = {b(Axes{}).id...};
    return b.definition(b.name(Name.text, Name.length()), b(E{}).id, axes, rank);
  }
};

namespace detail {

template <fixed_string Name, class... Axes>
struct definition_head {
  template <Expression E>
  SHEAF_INLINE constexpr auto operator=(E) const {
    expect_value<E>();
    return definition_<Name, E, Axes...>{};
  }
  template <Number E>
  SHEAF_INLINE constexpr auto operator=(E) const {
    bare_number<E>();
    return definition_<Name, literal_<0>, Axes...>{};
  }
};

}  // namespace detail

// define<"pooled">(m, f) = mean(t, x(m, t, f)): a tensor of the extents of m and f, in this order.
template <fixed_string Name, class... Axes>
SHEAF_INLINE constexpr auto define(Axes...) {
  static_assert((std::is_base_of_v<index_base, Axes> && ... && true), "define: its indices are axes");
  return detail::definition_head<Name, Axes...>{};
}

}  // namespace sheaf
