// Policies of reductions, given as template arguments: max<ties::first>(t, e), mean<empty::zero>(t, e),
// sum<accumulate<double>>(t, e), or several at once. Shown by tests/numeric/policies.cpp.
#pragma once
#include <concepts>

#include <sheaf/dsl/graph/element.hpp>
#include <sheaf/dsl/graph/graph.hpp>

namespace sheaf::inline v0_1 {

// Which of equal extrema the derivative of max and min goes to: all in equal shares, the first, or the last.
enum class ties : std::uint8_t { even, first, last };

namespace detail {

struct policy_base {};
struct empty_identity : policy_base {};
template <auto Value>
struct empty_value : policy_base {
  static constexpr double number = static_cast<double>(Value);
};
struct empty_nan : policy_base {};
struct empty_error : policy_base {};
template <element Type>
struct accumulator : policy_base {
  static constexpr element type = Type;
};
struct compensation : policy_base {};

template <class T>
inline constexpr bool is_empty_policy =
    std::is_same_v<T, empty_nan> || std::is_same_v<T, empty_identity> || std::is_same_v<T, empty_error>;
template <auto Value>
inline constexpr bool is_empty_policy<empty_value<Value>> = true;
template <class T>
inline constexpr bool is_sum_policy = std::is_same_v<T, compensation>;
template <element Type>
inline constexpr bool is_sum_policy<accumulator<Type>> = true;

template <class T>
concept Policy = std::is_same_v<T, ties> || std::derived_from<T, policy_base>;

// What the policies of a reduction say; the first mistake is `wrong`.
struct policies {
  ties chosen = ties::even;
  bool has_value = false, has_nan = false, has_error = false, has_ties = false, compensated = false,
       accumulates = false;
  double value = 0;
  element accumulated = element::f32;

  constexpr void add(ties t) { chosen = t, has_ties = true; }
  constexpr void add(empty_identity) {}
  constexpr void add(empty_nan) { has_nan = true; }
  constexpr void add(empty_error) { has_error = true; }
  template <auto Value>
  constexpr void add(empty_value<Value>) {
    has_value = true;
    value = empty_value<Value>::number;
  }
  template <element Type>
  constexpr void add(accumulator<Type>) {
    accumulates = true;
    accumulated = Type;
  }
  constexpr void add(compensation) { compensated = true; }
};

}  // namespace detail

// What a reduction over nothing is worth: what it says without a policy, NaN, or a number; or that it is an error.
namespace empty {
SHEAF_HIDDEN inline constexpr auto identity = detail::empty_identity{};
SHEAF_HIDDEN inline constexpr auto nan = detail::empty_nan{};
SHEAF_HIDDEN inline constexpr auto error = detail::empty_error{};
SHEAF_HIDDEN inline constexpr auto zero = detail::empty_value<0>{};
template <auto Value>
SHEAF_HIDDEN inline constexpr auto value = detail::empty_value<Value>{};
}  // namespace empty

// Sums, products, means and logsumexp with partial results of T; the result keeps its type.
template <class T>
  requires(is_element<T>)
SHEAF_HIDDEN inline constexpr auto accumulate = detail::accumulator<element_of<T>>{};
// Sums without the error of the order: f32 and narrower in f64.
SHEAF_HIDDEN inline constexpr auto compensated = detail::compensation{};

}  // namespace sheaf::inline v0_1
