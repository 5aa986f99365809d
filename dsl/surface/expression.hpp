// Expressions: stateless types, operators and functions that build them. An expression's type is the tree the user
// wrote; its static member `build` turns it into graph nodes (build.hpp).
#pragma once
#include <concepts>
#include <type_traits>

#include <sheaf/dsl/graph/number.hpp>
#include <sheaf/dsl/graph/ops.hpp>
#include <sheaf/dsl/surface/build.hpp>
#include <sheaf/dsl/surface/composites.hpp>
#include <sheaf/dsl/surface/fixed_string.hpp>

namespace sheaf::inline v0_1 {

struct expression_base {
  // What std::exp(x(i)) finds. Only to double, so that it finds one function.
  template <std::same_as<double> T>
  SHEAF_INLINE constexpr operator T() const {
    expect<!std::is_same_v<T, double>, [] {
      return detail::sentence{} << "expression: it has no value before a call, so it is no double; of an expression "
                                   "write exp(x(i)), not std::exp(x(i))";
    }>();
    return T{};
  }
};
struct tensor_base : expression_base {};  // can be subscripted: has `rank`, and is a value by itself where that is 0
struct index_base {};                     // can stand first in a reduction: an axis, a domain, over(...)

template <class T>
concept Expression = std::is_base_of_v<expression_base, std::remove_cvref_t<T>>;
template <class T>
concept Tensor = std::is_base_of_v<tensor_base, std::remove_cvref_t<T>>;
template <class T>
concept Indices = std::is_base_of_v<index_base, std::remove_cvref_t<T>>;
template <class T>
concept Number = std::is_arithmetic_v<std::remove_cvref_t<T>>;

namespace detail {

// Did the library name this tensor, not the program's author?
template <class T>
inline constexpr bool has_automatic_name = false;
// A tensor's name, for a sentence.
template <class T>
constexpr sentence called() {
  sentence s;
  s << T::label.text;
  return has_automatic_name<T> ? s << automatic_name_words : s;
}

// Stands for an expression that a sentence has refused. Whatever is made of it, no more is said of the program.
struct refused : expression_base {
  static constexpr built build(builder& b) {
    b.fail() << said_already;
    return b.literal(0);
  }
  template <class... Any>
  SHEAF_INLINE constexpr refused operator()(Any...) const {
    return {};
  }
};
template <class E>
inline constexpr bool is_refused = std::is_same_v<E, refused>;

// Can it be an operand? A tensor by itself is a value where its rank is 0.
template <class E>
inline constexpr bool is_value = Expression<E>;
template <Tensor E>
inline constexpr bool is_value<E> = E::rank == 0;
template <class... E>
inline constexpr bool are_values = (is_value<E> && ... && true);

template <class... E>
struct first_wrong;
template <class E, class... More>
struct first_wrong<E, More...> : std::conditional_t<is_value<E>, first_wrong<More...>, std::type_identity<E>> {};

// Says what is wrong with the first that is no value: a number that forgot its _c, a tensor that forgot its subscripts,
// or no expression at all.
template <class... E>
SHEAF_INLINE constexpr auto refuse() {
  using wrong = typename first_wrong<E...>::type;
  expect<(is_refused<E> || ...), [] {
    sentence s;
    if constexpr (Number<wrong>)
      s << "expression: a bare number; write it as 2_c, 0.5_c or constant<1.0 / 3>, or as a scalar<\"name\", T> where "
           "it is known at run time";
    else if constexpr (Tensor<wrong>)
      s << "expression: tensor " << called<wrong>() << " has rank " << wrong::rank << ", got no subscripts";
    else
      s << "expression: this argument is not an expression of Sheaf";
    return s;
  }>();
  return refused{};
}

}  // namespace detail

// A number of the program: an integer or a double. It takes the element type of what it meets.
template <auto Value>
struct literal_ : expression_base {
  static constexpr built build(builder& b) { return b.literal(Value); }
};
template <auto Value>
SHEAF_HIDDEN inline constexpr auto constant = literal_<Value>{};

template <op Kind, class... Args>
struct apply_ : expression_base {
  static constexpr built build(builder& b) {
    const built args[] = {b(Args{})...};
    return b.apply(Kind, args);
  }
};

template <op Kind, class... Args>
SHEAF_INLINE constexpr auto apply(const Args&...) {
  if constexpr (detail::are_values<Args...>)
    return apply_<Kind, Args...>{};
  else
    return detail::refuse<Args...>();
}

template <element Type, class E>
struct cast_ : expression_base {
  static constexpr built build(builder& b) { return b.cast(Type, b(E{})); }
};
// cast<double>(e): e converted to another element type. Floats to integers truncate and saturate; NaN becomes 0.
template <class T, class E>
  requires(Expression<E> || Number<E>)
SHEAF_INLINE constexpr auto cast(const E&) {
  static_assert(is_element<T>, "cast<T>: T is not an element type of Sheaf (see docs/language.md)");
  if constexpr (detail::are_values<E>)
    return cast_<element_of<T>, E>{};
  else
    return detail::refuse<E>();
}

template <class E>
struct stop_gradient_ : expression_base {
  static constexpr built build(builder& b) { return b.stop_gradient(b(E{})); }
};
// The value of e, which gradients take as a constant.
template <Expression E>
SHEAF_INLINE constexpr auto stop_gradient(E) {
  if constexpr (detail::are_values<E>)
    return stop_gradient_<E>{};
  else
    return detail::refuse<E>();
}

template <class Value, class Path>
struct graft_ : expression_base {
  static constexpr built build(builder& b) {
    const node_id value = b(Value{}).id;
    return {b.graft(value, b(Path{}).id)};
  }
};
// The value of `value`, which gradients take as `path`: graft(round(x(i)), x(i)) is rounded, and has derivative 1.
template <Expression Value, Expression Path>
SHEAF_INLINE constexpr auto graft(Value, Path) {
  if constexpr (detail::are_values<Value, Path>)
    return graft_<Value, Path>{};
  else
    return detail::refuse<Value, Path>();
}

namespace detail {
template <class A, class B>
concept Operands = (Expression<A> && (Expression<B> || Number<B>)) || (Number<A> && Expression<B>);
}  // namespace detail

#define SHEAF_INFIX(symbol, Kind)                         \
  template <class A, class B>                             \
    requires detail::Operands<A, B>                       \
  SHEAF_INLINE constexpr auto operator symbol(const A&, const B&) { \
    if constexpr (detail::are_values<A, B>)               \
      return apply_<op::Kind, A, B>{};                    \
    else                                                  \
      return detail::refuse<A, B>();                      \
  }
SHEAF_INFIX(+, add)
SHEAF_INFIX(-, sub)
SHEAF_INFIX(*, mul)
SHEAF_INFIX(/, div)
SHEAF_INFIX(%, remainder)
SHEAF_INFIX(&, bit_and)
SHEAF_INFIX(|, bit_or)
SHEAF_INFIX(^, bit_xor)
SHEAF_INFIX(<<, shift_left)
SHEAF_INFIX(>>, shift_right)
SHEAF_INFIX(==, equal)
SHEAF_INFIX(!=, not_equal)
SHEAF_INFIX(<, less)
SHEAF_INFIX(<=, less_equal)
SHEAF_INFIX(&&, logical_and)
SHEAF_INFIX(||, logical_or)
#undef SHEAF_INFIX

template <class A, class B>
  requires detail::Operands<A, B>
SHEAF_INLINE constexpr auto operator>(const A& a, const B& b) {
  return b < a;
}
template <class A, class B>
  requires detail::Operands<A, B>
SHEAF_INLINE constexpr auto operator>=(const A& a, const B& b) {
  return b <= a;
}
template <Expression A>
SHEAF_INLINE constexpr auto operator-(A a) {
  return apply<op::neg>(a);
}
template <Expression A>
SHEAF_INLINE constexpr auto operator~(A a) {
  return apply<op::bit_not>(a);
}
template <Expression A>
SHEAF_INLINE constexpr auto operator!(A a) {
  return apply<op::logical_not>(a);
}

namespace detail {
template <int Count, class... A>
concept Miscounted = sizeof...(A) != Count && (Expression<A> || ...);

template <fixed_string Name, int Count, class... A>
SHEAF_INLINE constexpr auto refuse_count() {
  expect<(is_refused<A> || ...), [] {
    return sentence{} << Name.text << ": expected " << Count << (Count == 1 ? " value, got " : " values, got ")
                      << static_cast<int>(sizeof...(A));
  }>();
  return refused{};
}
}  // namespace detail

#define SHEAF_MISCOUNTED(name, count)                  \
  template <class... A>                                \
    requires detail::Miscounted<count, A...>           \
  SHEAF_INLINE constexpr auto name(const A&...) {      \
    return detail::refuse_count<#name, count, A...>(); \
  }

#define SHEAF_FUNCTION(name)              \
  template <Expression A>                 \
  SHEAF_INLINE constexpr auto name(A a) { \
    return apply<op::name>(a);            \
  }                                       \
  SHEAF_MISCOUNTED(name, 1)
SHEAF_FUNCTIONS(SHEAF_FUNCTION)
SHEAF_FUNCTION(bit_not)
#undef SHEAF_FUNCTION
#undef SHEAF_FUNCTIONS

#define SHEAF_FUNCTION2(name, Kind)               \
  template <class A, class B>                     \
    requires(Expression<A> || Expression<B>)      \
  SHEAF_INLINE constexpr auto name(const A&, const B&) { \
    if constexpr (detail::are_values<A, B>)       \
      return apply_<op::Kind, A, B>{};            \
    else                                          \
      return detail::refuse<A, B>();              \
  }                                               \
  SHEAF_MISCOUNTED(name, 2)
SHEAF_FUNCTION2(pow, pow)
SHEAF_FUNCTION2(minimum, minimum)
SHEAF_FUNCTION2(maximum, maximum)
SHEAF_FUNCTION2(quotient, quotient)    // floor(a / b), as Python's //
SHEAF_FUNCTION2(remainder, remainder)  // a - b * floor(a / b), as Python's %
SHEAF_FUNCTION2(bit_and, bit_and)
SHEAF_FUNCTION2(bit_or, bit_or)
SHEAF_FUNCTION2(bit_xor, bit_xor)
SHEAF_FUNCTION2(shift_left, shift_left)    // a count below 0 or of all bits: 0
SHEAF_FUNCTION2(shift_right, shift_right)  // with the sign; a count below 0 or of all bits: the sign alone
#undef SHEAF_FUNCTION2

// Of composites.hpp.
template <built (*Make)(builder&, const built*), class... Args>
struct composite_ : expression_base {
  static constexpr built build(builder& b) {
    const built args[] = {b(Args{})...};
    return Make(b, args);
  }
};
template <built (*Make)(builder&, const built*), class... Args>
  requires(Expression<Args> || ...)
SHEAF_INLINE constexpr auto composite(const Args&...) {
  if constexpr (detail::are_values<Args...>)
    return composite_<Make, Args...>{};
  else
    return detail::refuse<Args...>();
}
#define SHEAF_COMPOSITE1(name)                           \
  template <Expression A>                                \
  SHEAF_INLINE constexpr auto name(A a) {                \
    return composite<composites::name>(a);               \
  }                                                      \
  SHEAF_MISCOUNTED(name, 1)
#define SHEAF_COMPOSITE2(name)                           \
  template <class A, class B>                            \
    requires(Expression<A> || Expression<B>)             \
  SHEAF_INLINE constexpr auto name(const A& a, const B& b) {           \
    return composite<composites::name>(a, b);            \
  }                                                      \
  SHEAF_MISCOUNTED(name, 2)
#define SHEAF_COMPOSITE3(name)                           \
  template <class A, class B, class C>                   \
    requires(Expression<A> || Expression<B> || Expression<C>) \
  SHEAF_INLINE constexpr auto name(const A& a, const B& b, const C& c) {      \
    return composite<composites::name>(a, b, c);         \
  }                                                      \
  SHEAF_MISCOUNTED(name, 3)
SHEAF_COMPOSITES(SHEAF_COMPOSITE1, SHEAF_COMPOSITE2, SHEAF_COMPOSITE3)
#undef SHEAF_COMPOSITE1
#undef SHEAF_COMPOSITE2
#undef SHEAF_COMPOSITE3
#undef SHEAF_COMPOSITES
// a where c, else b; only the one chosen is evaluated, so the other may subscript out of range.
template <class C, class A, class B>
  requires(Expression<C> || Expression<A> || Expression<B>)
SHEAF_INLINE constexpr auto select(const C&, const A&, const B&) {
  if constexpr (detail::are_values<C, A, B>)
    return apply_<op::select, C, A, B>{};
  else
    return detail::refuse<C, A, B>();
}

SHEAF_MISCOUNTED(select, 3)
#undef SHEAF_MISCOUNTED

namespace detail {
template <char... Digits>
SHEAF_INLINE constexpr auto parse_literal() {
  constexpr char text[] = {Digits...};
  bool fractional = false;
  for (const char c : text) fractional = fractional || c == '.' || c == 'e' || c == 'E';
  char kept[sizeof text] = {};
  int size = 0;
  std::int64_t whole = 0;
  for (const char c : text) {
    if (c == '\'') continue;
    kept[size++] = c;
    if (!fractional) whole = whole * 10 + (c - '0');
  }
  const double value = fractional ? decimal::value_of(kept, size) : 0;
  struct parsed {
    bool fractional;
    std::int64_t whole;
    double value;
  };
  return parsed{fractional, whole, value};
}
}  // namespace detail

inline namespace literals {

// 2_c is an integer, 0.5_c and 1e-3_c are floating.
template <char... Digits>
SHEAF_INLINE constexpr auto operator""_c() {
  constexpr auto number = detail::parse_literal<Digits...>();
  if constexpr (number.fractional)
    return literal_<number.value>{};
  else
    return literal_<number.whole>{};
}

}  // namespace literals

}  // namespace sheaf::inline v0_1
