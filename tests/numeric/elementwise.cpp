// Every elementwise op of the language, for every element type, against plain C++ on the same numbers.
#include <support/both.hpp>

namespace {
using namespace sheaf;
using namespace sheaf::test;

constexpr auto i = axis<"i">;

// Long enough for a vector body and a tail.
constexpr int length = 37;

template <class T>
using result_of_float = std::conditional_t<(unit_of<T>() > 0), T, float>;

// f(x) for a floating function: integers and booleans are taken as f32.
template <class T, class Build, class Plain>
void check_unary(const char* name, Build build, Plain plain, double low, double high, double rounds = 16) {
  constexpr auto x = tensor<"x", T, 1>;
  const auto values = noise_array<T>(low, high, length);
  constexpr auto y = define<"y">(i) = Build{}(x(i));
  (void)build;
  const auto found = both(y).rounds(rounds)(x = values);
  for (int k = 0; k < length; ++k) {
    const double exact = plain(number_of(values(k)));
    const auto expected = value_of<std::remove_cvref_t<decltype(found(0))>>(exact);
    EXPECT_TRUE(agree(found(k), expected, rounds))
        << name << "(" << number_of(values(k)) << ") = " << number_of(found(k)) << ", expected " << exact;
  }
}

template <class T>
class floating : public testing::Test {};
using floating_types = testing::Types<double, float, float16, bfloat16>;
TYPED_TEST_SUITE(floating, floating_types);

#define SHEAF_UNARY(name, plain, low, high)                                                                          \
  TYPED_TEST(floating, name) {                                                                                       \
    check_unary<TypeParam>(#name, [](auto e) { return sheaf::name(e); }, [](double v) { return plain; }, low, high); \
  }
SHEAF_UNARY(exp, std::exp(v), -5, 2)
SHEAF_UNARY(log, std::log(v), 0.1, 20)
SHEAF_UNARY(log1p, std::log1p(v), -0.5, 5)
SHEAF_UNARY(expm1, std::expm1(v), -3, 2)
SHEAF_UNARY(sqrt, std::sqrt(v), 0, 9)
SHEAF_UNARY(rsqrt, 1 / std::sqrt(v), 0.2, 9)
SHEAF_UNARY(tanh, std::tanh(v), -3, 3)
SHEAF_UNARY(sigmoid, 1 / (1 + std::exp(-v)), -5, 5)
SHEAF_UNARY(erf, std::erf(v), -3, 3)
SHEAF_UNARY(sin, std::sin(v), -6, 6)
SHEAF_UNARY(cos, std::cos(v), -6, 6)
SHEAF_UNARY(tan, std::tan(v), -1.4, 1.4)
SHEAF_UNARY(asin, std::asin(v), -0.9, 0.9)
SHEAF_UNARY(acos, std::acos(v), -0.9, 0.9)
SHEAF_UNARY(atan, std::atan(v), -5, 5)
SHEAF_UNARY(sinh, std::sinh(v), -3, 3)
SHEAF_UNARY(cosh, std::cosh(v), -3, 3)
SHEAF_UNARY(asinh, std::asinh(v), -5, 5)
SHEAF_UNARY(acosh, std::acosh(v), 1.1, 9)
SHEAF_UNARY(atanh, std::atanh(v), -0.9, 0.9)
SHEAF_UNARY(trunc, std::trunc(v), -6, 6)
SHEAF_UNARY(abs, std::abs(v), -6, 6)
SHEAF_UNARY(floor, std::floor(v), -6, 6)
SHEAF_UNARY(ceil, std::ceil(v), -6, 6)
SHEAF_UNARY(round, std::nearbyint(v), -6, 6)
SHEAF_UNARY(sign, double((v > 0) - (v < 0)), -6, 6)
#undef SHEAF_UNARY

template <class T, class Out = T, class Build, class Plain>
void check_binary(const char* name, Build, Plain plain, double low, double high, double low2, double high2) {
  constexpr auto x = tensor<"x", T, 1>;
  constexpr auto z = tensor<"z", T, 1>;
  const auto a = noise_array<T>(low, high, length);
  const auto reversed = noise_array<T>(low2, high2, length);
  constexpr auto y = define<"y">(i) = Build{}(x(i), z(extent(z, dim<0>) - 1_c - i));
  const auto found = both(y)(x = a, z = reversed);
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(found(0))>, Out>);
  for (int k = 0; k < length; ++k) {
    const double left = number_of(a(k)), right = number_of(reversed(length - 1 - k));
    EXPECT_TRUE(agree(found(k), value_of<Out>(plain(left, right)), 16))
        << name << "(" << left << ", " << right << ") = " << number_of(found(k));
  }
}

#define SHEAF_BINARY(name, Out, e, plain, low, high, low2, high2)                                                   \
  TYPED_TEST(floating, name) {                                                                                      \
    check_binary<TypeParam, Out>(                                                                                   \
        #name, [](auto a, auto b) { return e; }, [](double a, double b) { return plain; }, low, high, low2, high2); \
  }
SHEAF_BINARY(add, TypeParam, a + b, a + b, -3, 3, -2, 2)
SHEAF_BINARY(sub, TypeParam, a - b, a - b, -3, 3, -2, 2)
SHEAF_BINARY(mul, TypeParam, a* b, a* b, -3, 3, -2, 2)
SHEAF_BINARY(div, TypeParam, a / b, a / b, -3, 3, 0.5, 2)
SHEAF_BINARY(pow, TypeParam, sheaf::pow(a, b), std::pow(a, b), 0.2, 3, -2, 2)
SHEAF_BINARY(minimum, TypeParam, minimum(a, b), std::min(a, b), -3, 3, -2, 2)
SHEAF_BINARY(maximum, TypeParam, maximum(a, b), std::max(a, b), -3, 3, -2, 2)
SHEAF_BINARY(less, bool, a < b, a < b, -3, 3, -2, 2)
SHEAF_BINARY(less_equal, bool, a <= b, a <= b, -3, 3, -2, 2)
SHEAF_BINARY(greater, bool, a > b, a > b, -3, 3, -2, 2)
SHEAF_BINARY(greater_equal, bool, a >= b, a >= b, -3, 3, -2, 2)
SHEAF_BINARY(equal, bool, floor(a) == floor(b), std::floor(a) == std::floor(b), -3, 3, -2, 2)
SHEAF_BINARY(not_equal, bool, floor(a) != floor(b), std::floor(a) != std::floor(b), -3, 3, -2, 2)
SHEAF_BINARY(select_less, TypeParam, select(a < b, a, b * 2_c), a < b ? a : b * 2, -3, 3, -2, 2)
SHEAF_BINARY(logic, bool, (a < 0_c && b < 0_c) || !(a < b), (a < 0 && b < 0) || !(a < b), -3, 3, -2, 2)
#undef SHEAF_BINARY

// a - b * floor(a / b) jumps where a / b is whole, so an f32 kernel may land on the other side: exact operands only.
TYPED_TEST(floating, remainder_and_quotient) {
  constexpr auto x = tensor<"x", TypeParam, 1>;
  constexpr auto r = define<"r">(i) = remainder(x(i), 2_c);
  constexpr auto q = define<"q">(i) = quotient(x(i), 2_c);
  const auto [rest, whole] = both(r, q)(x = list<TypeParam>({-3, -2.5, -2, -0.5, 0, 0.5, 1.5, 2, 3.25}));
  const double expected_rest[] = {1, 1.5, 0, 1.5, 0, 0.5, 1.5, 0, 1.25},
               expected_whole[] = {-2, -2, -1, -1, 0, 0, 0, 1, 1};
  for (int k = 0; k < 9; ++k) {
    EXPECT_EQ(number_of(rest(k)), expected_rest[k]);
    EXPECT_EQ(number_of(whole(k)), expected_whole[k]);
  }
}

template <class T>
class integral : public testing::Test {};
using integral_types = testing::Types<std::int64_t, std::int32_t, std::int8_t, std::uint8_t, std::int16_t,
                                     std::uint16_t, std::uint32_t>;
TYPED_TEST_SUITE(integral, integral_types);

std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

#define SHEAF_INTEGRAL(name, Out, e, plain)                                               \
  TYPED_TEST(integral, name) {                                                            \
    using wide = std::int64_t;                                                            \
    constexpr double low = std::is_signed_v<TypeParam> ? -100 : 0;                        \
    check_binary<TypeParam, Out>(                                                         \
        #name, [](auto a, auto b) { return e; },                                          \
        [](double l, double r) {                                                          \
          [[maybe_unused]] const wide a = static_cast<wide>(l), b = static_cast<wide>(r); \
          return static_cast<double>(static_cast<Out>(plain));                            \
        },                                                                                \
        low, 100, 1, 100);                                                                \
  }
SHEAF_INTEGRAL(add, TypeParam, a + b, a + b)
SHEAF_INTEGRAL(sub, TypeParam, a - b, a - b)
SHEAF_INTEGRAL(mul, TypeParam, a* b, a* b)
SHEAF_INTEGRAL(div, TypeParam, a / b, floor_div(a, b))
SHEAF_INTEGRAL(negative_divisor, TypeParam, a / (0_c - b / 2_c - 1_c),
               floor_div(a, static_cast<TypeParam>(-(b / 2) - 1)))
SHEAF_INTEGRAL(remainder, TypeParam, a % b, a - b * floor_div(a, b))
SHEAF_INTEGRAL(minimum, TypeParam, minimum(a, b), std::min(a, b))
SHEAF_INTEGRAL(maximum, TypeParam, maximum(a, b), std::max(a, b))
SHEAF_INTEGRAL(less, bool, a < b, a < b)
SHEAF_INTEGRAL(less_equal, bool, a <= b, a <= b)
SHEAF_INTEGRAL(equal, bool, a / 4_c == b / 4_c, floor_div(a, 4) == b / 4)
SHEAF_INTEGRAL(not_equal, bool, a / 4_c != b / 4_c, floor_div(a, 4) != b / 4)
SHEAF_INTEGRAL(negated, TypeParam, -(a + b), -(a + b))
SHEAF_INTEGRAL(absolute, TypeParam, abs(a - b), std::abs(wide(TypeParam(a - b))))
SHEAF_INTEGRAL(signs, TypeParam, sign(a - b), (TypeParam(a - b) > 0) - (TypeParam(a - b) < 0))
SHEAF_INTEGRAL(chosen, TypeParam, select(b < a, a, b), b < a ? a : b)
SHEAF_INTEGRAL(bits, TypeParam, (a & b) | ~(a ^ 5_c), (a & b) | ~(a ^ 5))
SHEAF_INTEGRAL(shifted_left, TypeParam, a << (b % 8_c), wide(std::uint64_t(a) << (b % 8)))
SHEAF_INTEGRAL(shifted_right, TypeParam, a >> (b % 8_c), a >> (b % 8))
SHEAF_INTEGRAL(rounded, TypeParam, floor(a) + ceil(b) + round(a), a + b + a)
#undef SHEAF_INTEGRAL

// Floating functions of integers are f32.
TYPED_TEST(integral, floating_functions) {
  constexpr auto x = tensor<"x", TypeParam, 1>;
  constexpr auto y = define<"y">(i) = sqrt(x(i)) + sigmoid(x(i));
  const auto values = list<TypeParam>({0, 1, 4, 9, 100});
  const auto found = both(y)(x = values);
  static_assert(std::is_same_v<decltype(found), const array<float, 1>>);
  for (int k = 0; k < 5; ++k) {
    const double v = number_of(values(k));
    EXPECT_NEAR(found(k), std::sqrt(v) + 1 / (1 + std::exp(-v)), 1e-6 * (1 + v));
  }
}

template <class T>
std::vector<double> numbers(const array<T, 1>& a) {
  return {a.begin(), a.end()};
}

// Counts below 0 and beyond all bits, as in PyTorch.
TEST(shifts, beyond_the_bits) {
  constexpr auto a = tensor<"a", std::int8_t, 1>;
  constexpr auto b = tensor<"b", std::int8_t, 1>;
  const auto [left, right] = both(define<"left">(i) = a(i) << b(i), define<"right">(i) = a(i) >> b(i))(
      a = list<std::int8_t>({1, -7, 100, -128, 127, 5, -7}), b = list<std::int8_t>({3, 1, 8, 9, -1, 7, 20}));
  EXPECT_EQ(numbers(left), (std::vector<double>{8, -14, 0, 0, 0, -128, 0}));
  EXPECT_EQ(numbers(right), (std::vector<double>{0, -4, 0, -1, 0, 0, -1}));
}
// Beyond the largest i64.
TEST(unsigned_64_bits, order_division_and_floats) {
  constexpr auto a = tensor<"a", std::uint64_t, 1>;
  array<std::uint64_t, 1> values(4);
  const std::uint64_t large = 18446744073709551615u;
  const std::uint64_t given[] = {large, 7, large - 1, std::uint64_t{1} << 63};
  std::copy(given, given + 4, values.begin());
  const auto [less, half, rest, top, place, real, back, shifted] =
      both(define<"less">(i) = a(i) < 9_c, define<"half">(i) = a(i) / 2_c, define<"rest">(i) = a(i) % 10_c,
           define<"top">() = max(i, a(i)), define<"place">() = argmin(i, a(i)),
           define<"real">(i) = cast<double>(a(i)), define<"back">(i) = cast<std::uint64_t>(cast<double>(a(i)) / 4_c),
           define<"shifted">(i) = a(i) >> 60_c)(a = values);
  for (int k = 0; k < 4; ++k) {
    EXPECT_EQ(less(k), given[k] < 9);
    EXPECT_EQ(half(k), given[k] / 2);
    EXPECT_EQ(rest(k), given[k] % 10);
    EXPECT_EQ(real(k), static_cast<double>(given[k]));
    EXPECT_EQ(back(k), static_cast<std::uint64_t>(static_cast<double>(given[k]) / 4));
    EXPECT_EQ(shifted(k), given[k] >> 60);
  }
  EXPECT_EQ(top(), large);
  EXPECT_EQ(place(), 1);
}

TEST(boolean, bits_are_logic) {
  constexpr auto p = tensor<"p", bool, 1>;
  constexpr auto q = tensor<"q", bool, 1>;
  const auto [a, o, x, n] = both(define<"a">(i) = p(i) & q(i), define<"o">(i) = p(i) | q(i),
                                 define<"x">(i) = p(i) ^ q(i), define<"n">(i) = ~p(i))(
      p = list<bool>({0, 0, 1, 1}), q = list<bool>({0, 1, 0, 1}));
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(n)>, array<bool, 1>>);
  for (int k = 0; k < 4; ++k) {
    EXPECT_EQ(a(k), k == 3);
    EXPECT_EQ(o(k), k > 0);
    EXPECT_EQ(x(k), k == 1 || k == 2);
    EXPECT_EQ(n(k), k < 2);
  }
}

TEST(boolean, logic_and_arithmetic) {
  constexpr auto p = tensor<"p", bool, 1>;
  constexpr auto q = tensor<"q", bool, 1>;
  constexpr auto conjunction = define<"conjunction">(i) = p(i) && q(i);
  constexpr auto disjunction = define<"disjunction">(i) = p(i) || q(i);
  constexpr auto same = define<"same">(i) = p(i) == q(i);
  constexpr auto opposite = define<"opposite">(i) = !p(i);
  constexpr auto added = define<"added">(i) = p(i) + q(i);  // booleans count as i64
  const auto a = list<bool>({0, 0, 1, 1}), b = list<bool>({0, 1, 0, 1});
  const auto [c, d, s, o, n] = both(conjunction, disjunction, same, opposite, added)(p = a, q = b);
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(n)>, array<std::int64_t, 1>>);
  for (int k = 0; k < 4; ++k) {
    EXPECT_EQ(c(k), a(k) && b(k));
    EXPECT_EQ(d(k), a(k) || b(k));
    EXPECT_EQ(s(k), a(k) == b(k));
    EXPECT_EQ(o(k), !a(k));
    EXPECT_EQ(n(k), a(k) + b(k));
  }
}

}  // namespace
