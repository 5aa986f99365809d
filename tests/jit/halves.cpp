// Reductions of f16 and bf16 whose results share what they load: in panels and tiles of f32, as those of f32 are.
#include "plan_harness.hpp"

namespace sheaf::test::halves_tests {
namespace {

constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto k = axis<"k">;
constexpr auto x = tensor<"x", bfloat16, 2>;
constexpr auto z = tensor<"z", bfloat16, 2>;

bool says(trial& test, const char* words) { return test.plan_text().find(words) != std::string::npos; }

TEST(halves, products_have_tiles) {
  constexpr auto straight = define<"y">(i, j) = sum(k, x(i, k) * z(k, j));
  constexpr auto across = define<"y">(i, j) = sum(k, x(i, k) * z(j, k));
  trial rows = trial_of(straight), columns = trial_of(across);
  rows.random("x", {131, 70}).random("z", {70, 67});
  columns.random("x", {131, 70}).random("z", {67, 70});
  for (trial* test : {&rows, &columns}) {
    EXPECT_TRUE(says(*test, "rules: halves")) << test->plan_text();
    EXPECT_TRUE(says(*test, "register tile")) << test->plan_text();
    test->expect_right(1e-2);
    const auto once = test->outputs.back().bytes;
    test->code->call.parallel_for = in_odd_tasks;
    ASSERT_EQ(test->run(), 0);
    EXPECT_EQ(test->outputs.back().bytes, once);
  }
}

TEST(halves, values_of_pairs_have_tiles) {
  constexpr auto apart = x(i, k) - z(j, k);
  constexpr auto nearest = define<"nearest">(i) = argmin(j, sum(k, apart * apart));
  constexpr auto mass = define<"mass">(i) = sum(j, exp(-sum(k, apart * apart)));
  trial places = trial_of(nearest), sums = trial_of(mass);
  for (trial* test : {&places, &sums}) {
    test->random("x", {301, 5}).random("z", {403, 5});
    EXPECT_TRUE(says(*test, "pair tiles")) << test->plan_text();
    test->expect_right(1e-2);
  }
}

// What only one result reads is not.
TEST(halves, sums_along_rows_stay) {
  constexpr auto squares = define<"squares">(i) = sum(k, x(i, k) * x(i, k));
  trial test = trial_of(squares);
  test.random("x", {70, 131});
  EXPECT_FALSE(says(test, "halves")) << test.plan_text();
  test.expect_right(1e-2);
}

}  // namespace
}  // namespace sheaf::test::halves_tests
