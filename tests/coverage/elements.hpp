// One expression in several element types. SHEAF_HALVES(name, expression in T): in f16 and bf16 within one unit of the last place
// of what f32 gives for the same numbers, and by kernels what the reference gives. SHEAF_INTEGERS(name, result, expression in T): in i64,
// i32, i8, u8 and bool exactly what f64 gives for the same small numbers, in the type that is named. SHEAF_INDICES(name, expression
// in T): the same numbers whatever the type of ids, bounds and masks.
#pragma once
#include <gtest/gtest.h>

#include <coverage/by_name.hpp>

namespace sheaf::elements {

// Places between two numbers of a 16-bit type; 0 for the same one and for two NaN.
std::int64_t places_between(element type, double a, double b);

// A program in its own type and in a wider one on the same numbers.
struct in_two_types {
  test::subject narrow, wide;
  element type;
};
void check_halves(const in_two_types& s);
void check_integers(const in_two_types& s, element result);
void check_indices(const in_two_types& s);

// The type of sums and counts, and of what stays as it is.
enum class result_of : std::uint8_t { sums, itself };
constexpr element result_type(result_of how, element e) { return how == result_of::sums ? element::i64 : e; }

template <class T, class Wide, class Make>
SHEAF_INLINE in_two_types program_in(const char* name, Make) {
  constexpr auto narrow = Make{}.template operator()<T>();
  constexpr auto wide = Make{}.template operator()<Wide>();
  return {test::value_of(std::string(name) + " in " + sheaf::row(element_of<T>).name, narrow), test::value_of(name, wide), element_of<T>};
}
constexpr auto t = axis<"t">;
constexpr auto f = axis<"f">;
constexpr auto m = axis<"m">;
constexpr auto k = axis<"k">;
constexpr auto u = axis<"u">;
template <class T>
constexpr auto x = tensor<"x", T, 2>;
template <class T>
constexpr auto w = tensor<"w", T, 2>;
template <class T>
constexpr auto weight = tensor<"weight", T, 1>;
template <class T>
constexpr auto features = tensor<"features", T, 1>;
template <class T>
constexpr auto bias = tensor<"bias", T, 1>;
template <class T>
constexpr auto v4 = tensor<"v4", T, 4>;
template <class T>
constexpr auto v3 = tensor<"v3", T, 3>;
template <class T = std::int64_t>
constexpr auto ids = tensor<"ids", T, 1>;
template <class T = std::int64_t>
constexpr auto order = tensor<"order", T, 1>;
template <class T = std::int64_t>
constexpr auto target = tensor<"target", T, 1>;
template <class T = std::int64_t>
constexpr auto off = tensor<"off", T, 1>;
template <class T = std::int64_t>
constexpr auto cut = tensor<"cut", T, 2>;
template <class T = std::int64_t>
constexpr auto picks = tensor<"picks", T, 2>;
template <class T = std::int64_t>
constexpr auto places = tensor<"places", T, 2>;
template <class T = bool>
constexpr auto keep = tensor<"keep", T, 1>;

}  // namespace sheaf::elements

#define SHEAF_HALVES(name, ...)                                                      \
  TEST(element_types, name) {                                                        \
    constexpr auto make = []<class T>() { return __VA_ARGS__; };                     \
    check_halves(program_in<float16, float>(#__VA_ARGS__, make));                    \
    check_halves(program_in<bfloat16, float>(#__VA_ARGS__, make));                   \
  }
#define SHEAF_INTEGERS(name, result, ...)                                                                                \
  TEST(integer_types, name) {                                                                                            \
    constexpr auto make = []<class T>() { return __VA_ARGS__; };                                                         \
    check_integers(program_in<std::int64_t, double>(#__VA_ARGS__, make), result_type(result, element::i64));             \
    check_integers(program_in<std::int32_t, double>(#__VA_ARGS__, make), result_type(result, element::i32));             \
    check_integers(program_in<std::int8_t, double>(#__VA_ARGS__, make), result_type(result, element::i8));               \
    check_integers(program_in<std::uint8_t, double>(#__VA_ARGS__, make), result_type(result, element::u8));              \
    check_integers(program_in<bool, double>(#__VA_ARGS__, make), result_type(result, element::boolean));                 \
  }
#define SHEAF_INDICES(name, ...)                                                     \
  TEST(index_types, name) {                                                          \
    constexpr auto make = []<class T>() { return __VA_ARGS__; };                     \
    check_indices(program_in<std::int32_t, std::int64_t>(#__VA_ARGS__, make));       \
    check_indices(program_in<std::int8_t, std::int64_t>(#__VA_ARGS__, make));        \
    check_indices(program_in<std::uint8_t, std::int64_t>(#__VA_ARGS__, make));       \
  }
