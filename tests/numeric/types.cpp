// Mixed element types, casts, and literals that take the type of what they meet.
#include <support/both.hpp>

namespace {
using namespace sheaf;
using namespace sheaf::test;

constexpr auto i = axis<"i">;

template <class A, class B, class Expected>
void check_promotion() {
  constexpr auto a = tensor<"a", A, 1>;
  constexpr auto b = tensor<"b", B, 1>;
  constexpr auto total = define<"total">(i) = a(i) + b(i);
  const auto found = both(total)(a = list<A>({0, 1, 1, 0, 1}), b = list<B>({0, 0, 1, 1, 1}));
  static_assert(std::is_same_v<decltype(found), const array<Expected, 1>>);
  const double expected[] = {0, 1, 2, 1, 2};
  for (int k = 0; k < 5; ++k) EXPECT_EQ(number_of(found(k)), expected[k]);
}

TEST(promotion, as_in_pytorch) {
  check_promotion<double, float, double>();
  check_promotion<float, std::int64_t, float>();
  check_promotion<float16, std::int64_t, float16>();
  check_promotion<bfloat16, std::int32_t, bfloat16>();
  check_promotion<float16, bfloat16, float>();
  check_promotion<float16, float, float>();
  check_promotion<bfloat16, double, double>();
  check_promotion<std::int8_t, std::uint8_t, std::int16_t>();
  check_promotion<std::int16_t, std::uint8_t, std::int16_t>();
  check_promotion<std::int16_t, std::int32_t, std::int32_t>();
  check_promotion<std::uint8_t, std::int32_t, std::int32_t>();
  check_promotion<std::int32_t, std::int64_t, std::int64_t>();
  check_promotion<bool, std::uint8_t, std::uint8_t>();
  check_promotion<bool, float, float>();
  check_promotion<bool, bool, std::int64_t>();
}

// Where PyTorch has no answer: the signed type that holds both, and i64 with u64.
TEST(promotion, of_unsigned_types) {
  check_promotion<std::uint16_t, std::int16_t, std::int32_t>();
  check_promotion<std::uint16_t, std::int32_t, std::int32_t>();
  check_promotion<std::uint16_t, std::uint32_t, std::uint32_t>();
  check_promotion<std::uint32_t, std::int8_t, std::int64_t>();
  check_promotion<std::uint64_t, std::int32_t, std::int64_t>();
  check_promotion<std::uint64_t, std::uint8_t, std::uint64_t>();
  check_promotion<std::uint64_t, float, float>();
}

TEST(literals, take_the_type_of_what_they_meet) {
  constexpr auto h = tensor<"h", float16, 1>;
  constexpr auto n = tensor<"n", std::int8_t, 1>;
  constexpr auto d = tensor<"d", double, 1>;
  const auto [a, b, c, e, f] =
      both(define<"a">(i) = h(i) * 2_c + 0.5_c, define<"b">(i) = n(i) * 3_c, define<"c">(i) = n(i) * 0.5_c,
           define<"e">(i) = d(i) * constant<1.0 / 3>, define<"f">(i) = (2_c + 3_c) * n(i))(
          h = list<float16>({1, 2}), n = list<std::int8_t>({5, -7}), d = list<double>({3, 0.1}));
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(a)>, array<float16, 1>>);
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(b)>, array<std::int8_t, 1>>);
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(c)>, array<float, 1>>);  // a fraction makes integers f32
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(e)>, array<double, 1>>);
  EXPECT_EQ(to_double(a(1)), 4.5);
  EXPECT_EQ(b(1), -21);
  EXPECT_EQ(c(1), -3.5f);
  EXPECT_EQ(e(1), 0.1 * (1.0 / 3));
  EXPECT_EQ(f(0), 25);
}

template <class From, class To>
void check_cast(std::initializer_list<double> values, std::initializer_list<double> expected) {
  constexpr auto x = tensor<"x", From, 1>;
  const auto found = both(define<"y">(i) = cast<To>(x(i)))(x = list<From>(values));
  static_assert(std::is_same_v<decltype(found), const array<To, 1>>);
  int k = 0;
  for (const double e : expected) {
    EXPECT_EQ(number_of(found(k)), e) << "cast of element " << k;
    ++k;
  }
}

TEST(casts, floats_truncate_and_saturate_integers_wrap) {
  check_cast<float, std::int32_t>({1.9f, -1.9f, 3e9f, -3e9f}, {1, -1, 2147483647, -2147483648.0});
  check_cast<float, std::uint8_t>({-1, 255, 300, 2.5}, {0, 255, 255, 2});
  check_cast<double, std::int8_t>({-1000, 1000, -0.5}, {-128, 127, 0});
  check_cast<double, std::int64_t>({1e18, -1e18, 0.999}, {1e18, -1e18, 0});
  check_cast<double, std::int32_t>({std::numeric_limits<double>::quiet_NaN(), 7}, {0, 7});
  check_cast<std::int32_t, std::int8_t>({300, -129, 127}, {44, 127, 127});
  check_cast<std::int8_t, std::uint8_t>({-1, 5}, {255, 5});
  check_cast<std::int64_t, bool>({0, 5, -1}, {0, 1, 1});
  check_cast<float, bool>({0, 0.25, -3}, {0, 1, 1});
  check_cast<bool, float>({0, 1}, {0, 1});
  check_cast<double, float16>({1.0 + 0x1p-11, 70000, 1e-8}, {1, std::numeric_limits<double>::infinity(), 0});
  check_cast<double, bfloat16>({1.0 + 0x1p-8, 3.0}, {1, 3});
  check_cast<float16, double>({0.1, 6e-8}, {to_double(to_float16(0.1)), to_double(to_float16(6e-8))});
  check_cast<std::int64_t, float16>({2049, -3}, {2048, -3});
}

// What is made of numbers alone is as wide as what it meets.
TEST(literals, of_literals_alone) {
  constexpr auto x = tensor<"x", double, 1>;
  const auto [third, root] =
      both(define<"third">(i) = x(i) * (1_c / 3_c), define<"root">(i) = x(i) * sqrt(2_c))(x = list<double>({1}));
  EXPECT_EQ(third(0), 1.0 / 3);
  EXPECT_EQ(root(0), std::sqrt(2.0));
}
// Large integers are rounded once: by way of f64 those a little above the middle of two f32 would go down.
TEST(casts, of_integers_round_once) {
  constexpr auto n = tensor<"n", std::int64_t, 1>;
  constexpr std::int64_t above = (std::int64_t{1} << 54) + (1 << 30) + 1;
  constexpr std::int64_t half = (std::int64_t{1} << 40) + (std::int64_t{1} << 32) + 1;
  const std::vector<std::int64_t> large{above, above - 1, -above, half};
  const auto [narrow, brain] =
      both(define<"narrow">(i) = cast<float>(n(i)), define<"brain">(i) = cast<bfloat16>(n(i)))(n = large);
  EXPECT_EQ(narrow(0), 0x1p54f + 0x1p31f);
  EXPECT_EQ(narrow(1), 0x1p54f);
  EXPECT_EQ(narrow(2), -0x1p54f - 0x1p31f);
  EXPECT_EQ(to_double(brain(3)), 0x1p40);
}
TEST(scalars, are_tensors_of_rank_zero) {
  constexpr auto rate = scalar<"rate", float>;
  constexpr auto steps = scalar<"steps", std::int64_t>;
  constexpr auto x = tensor<"x", float, 1>;
  const std::vector<float> values = {1, 2, 3};
  const std::int64_t many = 4;
  const auto [y, total] = both(define<"y">(i) = x(i) * rate + steps, define<"total">() = rate * rate)(
      x = values, rate = 0.5f, steps = many);
  EXPECT_EQ(y(2), 5.5f);
  EXPECT_EQ(static_cast<float>(total), 0.25f);
}

}  // namespace
