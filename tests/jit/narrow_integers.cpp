// Sums of products of small integers, which are made in 32 bits or in floating numbers: at the largest sums that these
// hold, and one term beyond.
#include "plan_harness.hpp"

namespace sheaf::test::narrow_integers_tests {
namespace {

constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto k = axis<"k">;
constexpr auto a = tensor<"a", std::int8_t, 2>;
constexpr auto b = tensor<"b", std::int8_t, 2>;
constexpr auto p = tensor<"p", std::uint8_t, 2>;
constexpr auto q = tensor<"q", std::int16_t, 2>;
constexpr auto scale = tensor<"scale", float, 1>;

template <class To, class E>
constexpr auto wide(E e) {
  return cast<To>(e);
}

std::vector<double> all(std::int64_t count, double value) {
  return std::vector<double>(static_cast<std::size_t>(count), value);
}

bool is_narrow(trial& t) { return t.plan_text().find("narrow integers") != std::string::npos; }

TEST(narrow_integers, products_of_matrices) {
  constexpr auto y =
      define<"y">(i, j) = sum(k, wide<std::int32_t>(a(i, k)) * wide<std::int32_t>(b(k, j)));
  constexpr auto product = wide<std::int64_t>(a(i, k)) * wide<std::int64_t>(b(k, j));
  constexpr auto z = define<"z">(i, j) = cast<float>(sum(k, product)) * scale(j);
  for (const std::int64_t n : {1, 100, 1024, 1025, 3000}) {
    trial t = trial_of(y, z);
    t.with("a", {17, n}, all(17 * n, -128)).with("b", {n, 33}, all(n * 33, -128)).random("scale", {33});
    t.expect_right(1e-6);
    EXPECT_TRUE(is_narrow(t)) << t.plan_text();
    EXPECT_EQ(t.outputs[0].get<std::int64_t>(0), 16384 * n);
    trial drawn = trial_of(y);
    drawn.below("a", {17, n}, 128).below("b", {n, 33}, 128).expect_right(0);
  }
}

TEST(narrow_integers, dot_products) {
  constexpr auto y = define<"y">(i) = sum(k, wide<std::int32_t>(p(i, k)) * wide<std::int32_t>(p(i, k)));
  constexpr auto far = abs(wide<std::int32_t>(p(i, k)) - 3_c);
  constexpr auto z = define<"z">(i) = sum(k, far * (1_c - wide<std::int64_t>(p(i, k))));
  for (const std::int64_t n : {0, 7, 33025, 33026, 131074}) {
    trial t = trial_of(y, z);
    t.with("p", {2, n}, all(2 * n, 255)).expect_right(0);
    if (n > 0) {
      EXPECT_EQ(t.outputs[0].get<std::int64_t>(1), 65025 * n);
    }
  }
}

// What wraps in its own type is as it is; sums of what has no bound, and open ones, stay in 64 bits.
TEST(narrow_integers, what_wraps) {
  constexpr auto y = define<"y">(i, j) = sum(k, wide<std::int64_t>(a(i, k) * b(k, j)));
  constexpr auto z = define<"z">(i) = sum(k, wide<std::int64_t>(q(i, k)) * wide<std::int64_t>(q(i, k)));
  constexpr auto w = define<"w">(i) = sum(k.in(0_c, i), wide<std::int32_t>(p(i, k)) * wide<std::int32_t>(p(i, k)));
  trial t = trial_of(y, z, w);
  t.with("a", {9, 40}, all(360, -77)).with("b", {40, 11}, all(440, 101));
  t.with("q", {9, 300}, all(2700, -32768)).with("p", {9, 300}, all(2700, 255)).expect_right(0);
}

}  // namespace
}  // namespace sheaf::test::narrow_integers_tests
