// Definitions whose gradient the user gives.
//
//   constexpr auto rounded = define<"rounded">(i) = round(x(i));
//   constexpr auto through = custom_gradient(rounded, [](auto y, auto dy) { return by(x)(i) = dy(i); });
#pragma once
#include <sheaf/dsl/surface/gradient.hpp>

namespace sheaf::inline v0_1 {

template <class X, class E, class... Axes>
struct rule_ {
  using by = X;
  template <class Custom>
  static constexpr node_id contribution(builder& b) {
    const bound_axis axes[sizeof...(Axes) + 1] = {Axes::bind(b)...};
    constexpr auto make_label = [] {
      return detail::sentence{} << "gradient_of_" << Custom::label.text << "_by_" << X::label.text;
    };
    constexpr auto label = detail::fixed<make_label>();
    const node_id body = cast_to(b.g, b.g.type(X::node(b).id), b(E{}).id);
    return b.definition(b.name(label.text, label.length()), body, axes, sizeof...(Axes), true);
  }
};

namespace detail {

template <class X, class... Axes>
struct rule_head {
  template <class E>
    requires(Expression<E> || Number<E>)
  SHEAF_INLINE constexpr auto operator=(const E&) const {
    if constexpr (is_value<E>)
      return rule_<X, E, Axes...>{};
    else
      return rule_<X, decltype(refuse<E>()), Axes...>{};
  }
};

template <class X>
struct by_ {
  template <class... Axes>
  SHEAF_INLINE constexpr auto operator()(Axes...) const {
    static_assert((is_axis<Axes> && ... && true), "by: its indices are axes");
    expect<X::rank == sizeof...(Axes), [] {
      return sentence{} << "custom gradient by " << detail::called<X>() << ": its rank is " << X::rank << ", got "
                        << static_cast<int>(sizeof...(Axes)) << " indices";
    }>();
    return rule_head<X, Axes...>{};
  }
  // Of rank 0.
  template <Expression E>
  SHEAF_INLINE constexpr auto operator=(E e) const {
    return rule_head<X>{} = e;
  }
};

template <class T>
inline constexpr bool is_rule = false;
template <class X, class E, class... Axes>
inline constexpr bool is_rule<rule_<X, E, Axes...>> = true;
template <class T>
inline constexpr bool is_whole_rule = false;
template <class X, class E, class... Axes>
inline constexpr bool is_whole_rule<rule_<X, E, Axes...>> = X::rank == sizeof...(Axes);

}  // namespace detail

// by(x)(i, j) = e: the element of x's gradient at i, j, in a rule of custom_gradient.
template <Tensor X>
SHEAF_INLINE constexpr auto by(X) {
  static_assert(detail::differentiable<X>, "custom gradient: gradients exist for floating tensors only");
  return detail::by_<X>{};
}

// What a rule sees as the cotangent.
template <class Custom>
struct cotangent_in_rule_ : subscripts<cotangent_in_rule_<Custom>> {
  static constexpr auto make_label = [] { return detail::sentence{} << "cotangent_" << Custom::label.text; };
  static constexpr auto label = detail::fixed<make_label>();
  static constexpr int rank = Custom::rank;
  static constexpr built node(builder& b) {
    return {b.placeholder(Custom::node(b).id, b.name(label.text, label.length()))};
  }
};

template <class Custom, class Rule>
using rule_made = decltype(Rule{}(Custom{}, cotangent_in_rule_<Custom>{}));

template <class Definition, class... Rules>
struct custom_;
template <fixed_string Name, SHEAF_BODY Body, class... Axes, class... Rules>
struct custom_<definition_<Name, Body, Axes...>, Rules...>
    : subscripts<custom_<definition_<Name, Body, Axes...>, Rules...>> {
  using subscripts<custom_>::operator=;
  static constexpr auto label = Name;
  static constexpr int rank = sizeof...(Axes);
  static constexpr built node(builder& b) {
    const node_id id = b.tensor_of(&type_tag<custom_>, [](builder& c) { return make_node(c); });
    if (b.starts_rules(id)) (add_rule<Rules>(b, id), ...);
    return {id};
  }

 private:
  // The value has no derivative of its own, which makes it another definition than the one without rules. What the
  // rules differentiate by comes first.
  static constexpr node_id make_node(builder& b) {
    (rule_made<custom_, Rules>::by::node(b), ...);
    const bound_axis axes[rank + 1] = {Axes::bind(b)...};
    const node_id body = b(detail::expression_in<Body>{}).id;
    return b.definition(b.name(Name.text, Name.length()), b.graft(body, number_like(b.g, body, 0)), axes, rank);
  }
  template <class Rule>
  static constexpr void add_rule(builder& b, node_id id) {
    using made = rule_made<custom_, Rule>;
    const node_id x = made::by::node(b).id;
    const node_id cotangent = cotangent_in_rule_<custom_>::node(b).id;
    b.add_rule(id, x, cotangent, made::template contribution<custom_>(b));
  }
};

// The definition, of the same name and value, with the gradient that the rules give. Each rule is a lambda without
// captures that takes the definition and its cotangent and returns `by(x)(indices...) = expression`, which may use
// anything. By tensors that no rule names, its gradient is zero. Rules are for vjp and grad, of any order; jvp refuses
// them.
template <class Definition, class... Rules>
SHEAF_INLINE constexpr auto custom_gradient(Definition, Rules...) {
  constexpr bool lambdas = (std::is_empty_v<Rules> && ...);
  constexpr bool rules = (detail::is_rule<std::invoke_result_t<Rules, Definition, cotangent_in_rule_<Definition>>> &&
                          ...);
  static_assert(lambdas, "custom_gradient: a rule is a lambda without captures");
  static_assert(rules, "custom_gradient: a rule returns by(x)(indices...) = expression");
  // Where a sentence says what is wrong, the definition stands for it, so that nothing else is said.
  if constexpr (lambdas && rules &&
                (detail::is_whole_rule<std::invoke_result_t<Rules, Definition, cotangent_in_rule_<Definition>>> && ...))
    return custom_<Definition, Rules...>{};
  else
    return Definition{};
}

}  // namespace sheaf::inline v0_1
