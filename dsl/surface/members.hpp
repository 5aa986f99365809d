// Types of expressions name their parts several times, so what follows each path through them takes a multiple with
// each layer of definitions. Clang 19 does so twice: it writes out a type where a `requires` expression of it fails, so
// members are asked for by specialisation; and argument-dependent lookup follows all types that a type names, so there
// a definition names what it is made of as a value. Eight layers of a network and their gradients took it more than ten
// minutes, and take 8 s. Shown by tests/reject/ok_eight_layers.cpp.
#pragma once
#include <type_traits>
#include <utility>

#include <sheaf/dsl/graph/visibility.hpp>

namespace sheaf::inline v0_1 {

class builder;

namespace detail {

#if defined(__clang__)
#define SHEAF_BODY const auto&
#define SHEAF_BODY_OF(E) sheaf::detail::made_of<E>
template <class E>
SHEAF_HIDDEN inline constexpr E made_of{};
template <const auto& Body>
using expression_in = std::remove_cvref_t<decltype(Body)>;
#else
// g++ writes out the arguments of every type that a message names, and with each layer several times those of the one
// before; what a lambda without a scope declares it names without them. Two layers filled 5 MB, and eight all memory.
#define SHEAF_BODY class
#define SHEAF_BODY_OF(E) decltype(sheaf::detail::made_of(E{}))
SHEAF_HIDDEN inline constexpr auto made_of = [](auto e) {
  struct body {
    using type [[maybe_unused]] = decltype(e);
  };
  return body{};
};
template <class Body>
using expression_in = typename Body::type;
#endif

// Several outputs in one, a list of types.
template <class E, class = void>
SHEAF_HIDDEN inline constexpr bool has_several = false;
template <class E>
SHEAF_HIDDEN inline constexpr bool has_several<E, std::void_t<typename E::several>> = true;

// A tensor: what it is in the graph.
template <class E, class = void>
SHEAF_HIDDEN inline constexpr bool has_node = false;
template <class E>
SHEAF_HIDDEN inline constexpr bool has_node<E, std::void_t<decltype(E::node(std::declval<builder&>()))>> = true;

// An input: an automatic one's symbol, or the type of elements.
template <class E, class = void>
SHEAF_HIDDEN inline constexpr bool has_symbol = false;
template <class E>
SHEAF_HIDDEN inline constexpr bool has_symbol<E, std::void_t<decltype(E::symbol)>> = true;
template <class E, class = void>
SHEAF_HIDDEN inline constexpr bool has_value_type = false;
template <class E>
SHEAF_HIDDEN inline constexpr bool has_value_type<E, std::void_t<typename E::value_type>> = true;

}  // namespace detail

}  // namespace sheaf::inline v0_1
