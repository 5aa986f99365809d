// Filters of many taps, forward and backward: lanes go along the results, and the middle of a row asks nothing.
#include "plan_harness.hpp"

namespace sheaf::test::moving_ranges_tests {
namespace {

constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto a = axis<"a">;
constexpr auto b = axis<"b">;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto k = tensor<"k", float, 1>;
constexpr auto m = tensor<"m", double, 2>;
constexpr auto y = tensor<"y", double, 2>;

bool says(trial& test, const char* words) { return test.plan_text().find(words) != std::string::npos; }

TEST(moving_ranges, of_rows) {
  constexpr auto filtered = define<"filtered">(i.in(0_c, extent(x, dim<0>)), j.in(0_c, extent(x, dim<1>))) =
      sum(b, k(b) * x.padded(0_c)(i, j + b - 10_c));
  constexpr auto loss = sum(over(i, j), filtered(i, j) * filtered(i, j));
  for (const std::int64_t columns : {50, 180, 300})
    for (const std::int64_t taps : {17, 21, 64}) {
      trial test = trial_of(filtered, grad(loss, x), grad(loss, k));
      test.random("x", {7, columns}).random("k", {taps});
      EXPECT_EQ(says(test, "moving ranges"), columns >= 8 * taps) << test.plan_text();
      test.expect_right(1e-5);
    }
}

TEST(moving_ranges, of_images) {
  constexpr auto filtered = define<"filtered">(i.in(0_c, extent(y, dim<0>)), j.in(0_c, extent(y, dim<1>))) =
      sum(over(a, b), m(a, b) * y.padded(0_c)(i + a - 3_c, j - b + 8_c));
  trial test = trial_of(filtered);
  test.random("y", {20, 170}).random("m", {6, 19});
  EXPECT_TRUE(says(test, "moving ranges")) << test.plan_text();
  test.expect_right(1e-12);
}

// Of places that are moved inside, gathers become neighbours in the middle.
TEST(moving_ranges, of_clamped_places) {
  constexpr auto blurred = define<"blurred">(i.in(0_c, extent(x, dim<0>)), j.in(0_c, extent(x, dim<1>))) =
      sum(b, k(b) * x.clamped(i, j + b - 10_c));
  trial test = trial_of(blurred);
  test.random("x", {5, 300}).random("k", {21});
  test.expect_right(1e-5);
}

// Few results of long ranges: lanes go along these.
TEST(moving_ranges, few_results_stay) {
  constexpr auto lagged = define<"lagged">(b.in(0_c, 20_c)) = sum(j, k(j) * k.padded(0_c)(j + b));
  trial test = trial_of(lagged);
  test.random("k", {3000});
  EXPECT_FALSE(says(test, "moving ranges")) << test.plan_text();
  test.expect_right(1e-5);
}

}  // namespace
}  // namespace sheaf::test::moving_ranges_tests
