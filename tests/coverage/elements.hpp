// One expression in several element types. SHEAF_HALVES(name, expression in T): in f16 and bf16 within one unit of the
// last place of what f32 gives for the same numbers, and by kernels what the reference gives. SHEAF_INTEGERS(name,
// result, expression in T): in i64, i32, i8, u8 and bool exactly what f64 gives for the same small numbers, in i64
// (sums) or in T (itself). SHEAF_INDICES(name, expression in T): the same numbers whatever the type of ids, bounds and
// masks.
#pragma once
#include <gtest/gtest.h>

#include <coverage/by_name.hpp>

namespace sheaf::elements {

// Places between two numbers of a 16-bit type; 0 for the same one and for two NaN.
std::int64_t places_between(element type, double a, double b);

// A program in some types, and in a wider one on the same numbers.
struct in_types {
  struct narrow {
    element type;
    test::subject program;
  };
  test::subject wide;
  std::vector<narrow> others;
};
void check_halves(const in_types& s);
void check_integers(const in_types& s, bool sums);
void check_indices(const in_types& s);

template <class Wide, class... T, class Make>
SHEAF_INLINE in_types programs_in(const char* name, Make) {
  constexpr auto wide = Make{}.template operator()<Wide>();
  return {
    test::value_of(name, wide),
    {{element_of<T>, test::value_of(std::string(name) + " in " + sheaf::row(element_of<T>).name,
                                    decltype(Make{}.template operator()<T>()){})}...}
  };
}

// Sums and positions are i64; what stays as it is keeps its type.
inline constexpr bool sums = true, itself = false;

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

#define SHEAF_HALVES(name, ...)                                              \
  TEST(element_types, name) {                                                \
    constexpr auto make = []<class T>() { return __VA_ARGS__; };             \
    check_halves(programs_in<float, float16, bfloat16>(#__VA_ARGS__, make)); \
  }
#define SHEAF_INTEGERS(name, result, ...)                                                                              \
  TEST(integer_types, name) {                                                                                          \
    constexpr auto make = []<class T>() { return __VA_ARGS__; };                                                       \
    check_integers(                                                                                                    \
        programs_in<double, std::int64_t, std::int32_t, std::int8_t, std::uint8_t, bool>(#__VA_ARGS__, make), result); \
  }
#define SHEAF_INDICES(name, ...)                                                                           \
  TEST(index_types, name) {                                                                                \
    constexpr auto make = []<class T>() { return __VA_ARGS__; };                                           \
    check_indices(programs_in<std::int64_t, std::int32_t, std::int8_t, std::uint8_t>(#__VA_ARGS__, make)); \
  }
