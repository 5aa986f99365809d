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
using integral_types = testing::Types<std::int64_t, std::int32_t, std::int8_t, std::uint8_t>;
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
