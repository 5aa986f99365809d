// Reductions of a few constant terms are these terms: no loop is folded across lanes, and others may be lanes.
#include "plan_harness.hpp"

namespace sheaf::test::few_terms_tests {
namespace {

constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto k = axis<"k">;
constexpr auto d = axis<"d">;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto w = tensor<"w", float, 2>;
constexpr auto ids = tensor<"ids", std::int64_t, 2>;
constexpr auto apart = x(i, d) - x(ids(i, k), d);
constexpr auto squares = sum(d.in(0_c, 3_c), apart * apart);

bool says(trial& test, const char* words) { return test.plan_text().find(words) != std::string::npos; }

trial& with_neighbours(trial& test) {
  return test.random("x", {203, 3}).below("ids", {203, 40}, 203);
}

TEST(few_terms, of_neighbours) {
  constexpr auto close = define<"close">(i, k) = exp(-squares);
  constexpr auto farthest = define<"farthest">(i, k) = max(d.in(0_c, 3_c), abs(apart));
  trial sums = trial_of(close), maxima = trial_of(farthest);
  for (trial* test : {&sums, &maxima}) {
    with_neighbours(*test);
    EXPECT_TRUE(says(*test, "few terms")) << test->plan_text();
    EXPECT_TRUE(says(*test, "k in ")) << test->plan_text();
    test->expect_right(1e-5);
  }
}

// Of a scatter of several indices those that name no row are summed first.
TEST(few_terms, of_updates) {
  constexpr auto loss = define<"loss">() = sum(over(i, k), w(i, k) / (squares + 1_c));
  trial test = trial_of(grad(loss, x));
  with_neighbours(test).random("w", {203, 40}).expect_right(1e-4);
  const auto once = test.outputs.back().bytes;
  test.code->call.parallel_for = in_odd_tasks;
  ASSERT_EQ(test.run(), 0);
  EXPECT_EQ(test.outputs.back().bytes, once);
}

// Windows that overlap are stencils; terms that some condition leaves out stay a loop.
TEST(few_terms, not_of_windows_and_conditions) {
  constexpr auto window = define<"window">(i.in(0_c, 190_c), d) = sum(k.in(0_c, 3_c), x(i + k, d));
  constexpr auto some = define<"some">(i, j.in(0_c, 40_c)) = sum(d.in(0_c, 3_c).where(x(i, d) > 0_c), x(ids(i, j), d));
  trial windows = trial_of(window), conditions = trial_of(some);
  windows.random("x", {203, 3});
  with_neighbours(conditions);
  for (trial* test : {&windows, &conditions}) {
    EXPECT_FALSE(says(*test, "few terms")) << test->plan_text();
    test->expect_right(1e-5);
  }
}

}  // namespace
}  // namespace sheaf::test::few_terms_tests
