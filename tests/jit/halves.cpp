// What is computed of f16 and bf16 has the panels, tiles and algorithms of f32.
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

// Sums that would be equal if they were stored.
TEST(halves, positions_are_of_what_is_held) {
  constexpr auto y = tensor<"y", bfloat16, 1>;
  constexpr auto greatest = define<"greatest">() = argmax(i, y(i) + 256_c);
  trial test = trial_of(greatest);
  test.with("y", {5}, {0, 0.5, 0.75, 0.25, 0.5});
  test.expect_right(0);
}

// Rules see them as those of f32.
TEST(halves, have_the_algorithms_of_f32) {
  constexpr auto y = tensor<"y", bfloat16, 1>;
  constexpr auto so_far = define<"so_far">(i.in(0_c, extent(y, dim<0>))) = logsumexp(j.in(0_c, i + 1_c), y(j));
  constexpr auto loss = sum(i, so_far(i) * so_far(i));
  trial running = trial_of(so_far, grad(loss, y));
  running.random("y", {200});
  EXPECT_FALSE(says(running, "materialised results")) << running.plan_text();
  running.expect_right(1e-2);
  constexpr auto filtered = define<"filtered">(i.in(0_c, extent(x, dim<0>)), j.in(0_c, extent(x, dim<1>))) =
      sum(k.in(0_c, 5_c), x.padded(0_c)(i, j + k - 2_c) * z(k, 0_c));
  trial windows = trial_of(filtered);
  windows.random("x", {40, 90}).random("z", {5, 1});
  EXPECT_TRUE(says(windows, "unrolled stencil")) << windows.plan_text();
  windows.expect_right(1e-2);
}

// A row of few elements in each lane, whatever their type.
TEST(halves, short_rows_are_lanes) {
  constexpr auto share = define<"share">(i, j) = exp(x(i, j)) / sum(k, exp(x(i, k)));
  for (const std::int64_t columns : {2, 3, 5, 12, 21}) {
    trial test = trial_of(share);
    test.random("x", {1003, columns});
    EXPECT_TRUE(says(test, columns > 8 ? "along short rows" : "t in 16 lanes") || says(test, "i in 16 lanes"))
        << test.plan_text();
    test.expect_right(1e-2);
  }
}

}  // namespace
}  // namespace sheaf::test::halves_tests
