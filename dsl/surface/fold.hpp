// Monoids of the program's own, of one value or of a tuple.
//
//   constexpr auto hypotenuse = own_monoid<"hypotenuse">(0_c, [](auto a, auto b) { return sqrt(a * a + b * b); })
//                                   .adjoint([](auto element, auto result) { return element / result; });
//   constexpr auto length = define<"length">(m) = fold(hypotenuse, t.in(lo(m), hi(m)), x(t));
//
//   constexpr auto affine = own_monoid<"affine">(tuple(1_c, 0_c), [](auto first, auto then) {
//                             auto [a, b] = first;
//                             auto [c, d] = then;
//                             return tuple(a * c, c * b + d);
//                           }).in_order();
//   constexpr auto last = define<"last">(m) = get<1>(fold(affine, t, tuple(a(m, t), b(m, t))));
#pragma once
#include <sheaf/dsl/surface/reduction.hpp>
#include <sheaf/dsl/surface/tuple.hpp>

namespace sheaf::inline v0_1 {

// An argument of a combination or an adjoint.
template <int K>
struct operand_ : expression_base {
  static constexpr built build(builder& b) { return b.operand(K); }
};

namespace detail {

// A state of one value, or of several.
template <class State>
struct state_of {
  static constexpr int width = 1;
  static constexpr bool several = false;
  template <int First>
  static constexpr auto operands() {
    return operand_<First>{};
  }
  static constexpr auto values() { return tuple_<State>{}; }
};
template <class... E>
struct state_of<tuple_<E...>> {
  static constexpr int width = static_cast<int>(sizeof...(E));
  static constexpr bool several = true;
  template <int First, int... K>
  static constexpr auto counted(std::integer_sequence<int, K...>) {
    return tuple_<operand_<First + K>...>{};
  }
  template <int First>
  static constexpr auto operands() {
    return counted<First>(std::make_integer_sequence<int, width>{});
  }
  static constexpr auto values() { return tuple_<E...>{}; }
};

template <class State, int Group>
using operands_of = decltype(state_of<State>::template operands<Group * state_of<State>::width>());

template <class State>
inline constexpr bool is_state = Expression<State>;
template <class... E>
inline constexpr bool is_state<tuple_<E...>> = true;

// Where a rule yields another number of values than the state has, `what` says what of.
template <fixed_string Name, fixed_string What, class State, class Result>
SHEAF_INLINE constexpr bool expect_width() {
  constexpr int expected = state_of<State>::width, found = state_of<Result>::width;
  expect<expected == found, [] {
    return sentence{} << "fold " << Name.text << ": " << What.text << " has " << found
                      << (found == 1 ? " value" : " values") << ", expected " << expected << " as its identity";
  }>();
  return expected == found;
}

// What a combination or an adjoint makes of its operands; the identity after a mistake.
template <fixed_string Name, fixed_string What, class State, class Rule, class... Operands>
SHEAF_INLINE constexpr auto result_of() {
  static_assert(std::is_empty_v<Rule>, "own_monoid: a combination is a lambda without captures");
  constexpr bool takes = std::is_invocable_v<Rule, Operands...>;
  static_assert(takes, "own_monoid: a combination takes two arguments and returns an expression of them");
  if constexpr (takes) {
    using result = std::invoke_result_t<Rule, Operands...>;
    static_assert(is_state<result>, "own_monoid: a combination takes two arguments and returns an expression of them");
    if constexpr (expect_width<Name, What, State, result>())
      return result{};
    else
      return State{};
  } else {
    return State{};
  }
}

}  // namespace detail

template <fixed_string Name, class Identity, class Combine, class Adjoint = nothing, bool InOrder = false>
struct own_monoid_ {
  static constexpr auto label = Name;
  using identity = Identity;
  using state = detail::state_of<Identity>;

  // Of one value: d result / d element, of the element and the result. Of a tuple: the cotangents of the element's
  // values, of the element, the result and the cotangents of the result's values.
  template <class Rule>
  SHEAF_INLINE constexpr auto adjoint(Rule) const {
    using rule = std::conditional_t<std::is_same_v<decltype(adjoint_of<Rule>()), nothing>, nothing, Rule>;
    return own_monoid_<Name, Identity, Combine, rule, InOrder>{};
  }
  // The combination is not commutative: elements are combined in the order of the index.
  SHEAF_INLINE constexpr auto in_order() const { return own_monoid_<Name, Identity, Combine, Adjoint, true>{}; }

  // Its first row in graph::monoids, for values of these types.
  static constexpr monoid node(builder& b, const element* types) {
    own_monoid_row rows[state::width];
    const name_id name = b.name(Name.text, Name.length());
    each(b, Identity{}, [&](int k, node_id e) {
      rows[k] = {name, types[k], cast_to(b.g, types[k], e), no_node, no_node, k, state::width, InOrder};
      if (!is_constant(b.g, rows[k].identity)) b.fail() << "fold " << Name.text << ": its identity is not a number";
    });
    b.of_operands(types, state::width, 2, [&] {
      each(b, combination_of(), [&](int k, node_id e) { rows[k].combine = cast_to(b.g, types[k], e); });
    });
    if constexpr (!std::is_same_v<Adjoint, nothing>)
      b.of_operands(types, state::width, state::several ? 3 : 2, [&] {
        each(b, adjoint_of<Adjoint>(), [&](int k, node_id e) { rows[k].adjoint = cast_to(b.g, types[k], e); });
      });
    return b.own(rows, state::width);
  }

 private:
  static constexpr auto combination_of() {
    return detail::result_of<Name, "its combination", Identity, Combine, detail::operands_of<Identity, 0>,
                             detail::operands_of<Identity, 1>>();
  }
  template <class Rule>
  static constexpr auto adjoint_of() {
    using element = detail::operands_of<Identity, 0>;
    using result = detail::operands_of<Identity, 1>;
    if constexpr (state::several)
      return detail::result_of<Name, "its adjoint", Identity, Rule, element, result,
                               detail::operands_of<Identity, 2>>();
    else
      return detail::result_of<Name, "its adjoint", Identity, Rule, element, result>();
  }
  template <class State, class Visit>
  static constexpr void each(builder& b, State, Visit visit) {
    visit_all(b, detail::state_of<State>::values(), visit);
  }
  template <class... E, class Visit>
  static constexpr void visit_all(builder& b, tuple_<E...>, Visit& visit) {
    int k = 0;
    (visit(k++, b(E{}).id), ...);
  }
};

// A monoid: what changes nothing, and how two values become one. The combination must be associative and, unless it is
// in_order(), commutative: values are combined in lanes and pieces, in a fixed order that is not that of the index.
// What changes nothing combined with itself must be itself. A tuple of identities makes a monoid of tuples.
template <fixed_string Name, class Identity, class Combine>
  requires detail::is_state<Identity>
SHEAF_INLINE constexpr auto own_monoid(Identity, Combine) {
  using result = decltype(detail::result_of<Name, "its combination", Identity, Combine,
                                            detail::operands_of<Identity, 0>, detail::operands_of<Identity, 1>>());
  static_assert(detail::is_state<result>);
  return own_monoid_<Name, Identity, Combine>{};
}

namespace detail {

template <class M>
inline constexpr bool is_own_monoid = false;
template <fixed_string Name, class Identity, class Combine, class Adjoint, bool InOrder>
inline constexpr bool is_own_monoid<own_monoid_<Name, Identity, Combine, Adjoint, InOrder>> = true;

}  // namespace detail

// Value K of what a fold yields.
template <int K, class Monoid, class Index, class Body, auto... Policies>
struct own_fold_ : expression_base {
  static constexpr built build(builder& b) {
    using state = typename Monoid::state;
    return {detail::folded_over(b, Index{}, [&](detail::folder& fold) {
      const flat<node_id> values = elements(b, detail::state_of<Body>::values());
      element types[state::width];
      for (int k = 0; k < state::width; ++k) types[k] = detail::fold_type(b.g.type(values[k]));
      const detail::sentence called = detail::sentence{} << "fold " << Monoid::label.text;
      return fold.own(Monoid::node(b, types), K, values, detail::policies_of<Policies...>(), called.text);
    })};
  }

 private:
  template <class... E>
  static constexpr flat<node_id> elements(builder& b, tuple_<E...>) {
    const built parts[] = {b(E{})...};
    return b.adopted(parts, static_cast<int>(sizeof...(E)));
  }
};

namespace detail {

template <class Monoid, class I, class Body, auto... P, int... K>
SHEAF_INLINE constexpr auto fold_values(std::integer_sequence<int, K...>) {
  return tuple_<own_fold_<K, Monoid, I, Body, P...>...>{};
}

template <class... Policies>
SHEAF_INLINE constexpr void expect_empty_policies() {
  expect<(is_empty_policy<Policies> && ... && (sizeof...(Policies) < 2)), [] {
    return sentence{} << "fold: its one policy says what it is over nothing, as in fold<empty::nan>(monoid, t, e)";
  }>();
}

}  // namespace detail

namespace detail {

template <class... E>
inline constexpr bool is_refused<tuple_<refused, E...>> = true;
// As many refused values as an identity has.
template <class Identity>
constexpr refused refused_as(Identity) {
  return {};
}
template <class... E>
constexpr tuple_<std::conditional_t<true, refused, E>...> refused_as(tuple_<E...>) {
  return {};
}

}  // namespace detail

// fold(monoid, t, e): e folded over t, a domain or over(...), with a monoid of the program's own. Of a monoid of
// tuples e is a tuple, and so is the fold. fold<policy>(...) says what it is over nothing.
template <detail::Policy auto... P, class Monoid, Indices I, class E>
  requires(detail::is_own_monoid<Monoid> && detail::is_state<E>)
SHEAF_INLINE constexpr auto fold(Monoid, I, E) {
  using state = typename Monoid::state;
  if constexpr (!detail::state_of<E>::several && !detail::is_value<E>) detail::refuse<E>();
  detail::expect_empty_policies<std::remove_const_t<decltype(P)>...>();
  constexpr bool fits = [] {
    return state::width == detail::state_of<E>::width && state::several == detail::state_of<E>::several;
  }();
  expect<fits, [] {
    return detail::sentence{} << "fold " << Monoid::label.text << ": an element has " << detail::state_of<E>::width
                              << (detail::state_of<E>::several ? " values" : " value") << ", expected " << state::width
                              << " as its identity";
  }>();
  if constexpr (!fits)
    return detail::refused_as(typename Monoid::identity{});
  else if constexpr (state::several)
    return detail::fold_values<Monoid, I, E, P...>(std::make_integer_sequence<int, state::width>{});
  else
    return own_fold_<0, Monoid, I, E, P...>{};
}

}  // namespace sheaf::inline v0_1
