// One sentence for compilers that cannot read the rest. Shown by tests/reject/older_standard.cpp and
// undefined_by_hand.cpp.
#pragma once

#if (defined(_MSVC_LANG) ? _MSVC_LANG : __cplusplus) < 202002L
#error "sheaf: C++20 is needed; compile with -std=c++20"
#define SHEAF_UNREADABLE
#elif defined(__clang__) && __clang_major__ < 18
#error "sheaf: clang 18 or later, or g++ 12 or later, is needed"
#define SHEAF_UNREADABLE
#elif defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 12
#error "sheaf: g++ 12 or later, or clang 18 or later, is needed"
#define SHEAF_UNREADABLE
#endif

// A file that is not there is where every compiler stops.
#ifdef SHEAF_UNREADABLE
#include <sheaf/nothing_more_is_read>
#endif

#if !defined(SHEAF_UNREADABLE) && defined(__GNUC__) && !defined(__clang__)
#include <type_traits>
namespace sheaf::inline v0_1::detail {
// Are addresses of two objects constants that differ? Types are told apart by them.
template <class>
[[gnu::visibility("hidden")]] inline constexpr char address_of = 0;
template <class A, class B>
concept addresses_differ = requires { typename std::bool_constant<(&address_of<A> != &address_of<B>)>; };
inline constexpr bool have_constant_addresses = addresses_differ<char, int>;
static_assert(have_constant_addresses, "sheaf: with -fsanitize=undefined, g++ needs the flag "
                                       "-fno-sanitize=null,nonnull-attribute,returns-nonnull-attribute");
}  // namespace sheaf::inline v0_1::detail
#endif
