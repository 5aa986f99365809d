// Reductions over several rows' indices, as of one index over all of them: the plan says so, and values are those of
// the evaluator, whatever the ranges, the layout and the tasks.
#include "plan_harness.hpp"

namespace sheaf::test::collapsed_rows_tests {
namespace {

constexpr auto b = axis<"b">;
constexpr auto h = axis<"h">;
constexpr auto w = axis<"w">;
constexpr auto f = axis<"f">;
constexpr auto x = tensor<"x", float, 4>;
constexpr auto y = tensor<"y", float, 4>;
constexpr auto keep = tensor<"keep", bool, 3>;
constexpr auto product = define<"product">(f) = sum(over(b, h, w), y(b, h, w, f) * x(b, h, w, f));

bool is_collapsed(trial& t) { return t.plan_text().find("rows of several indices") != std::string::npos; }

void expect_collapsed(trial& t) {
  EXPECT_TRUE(is_collapsed(t)) << t.plan_text();
  t.expect_right(1e-5);
  const auto once = t.outputs.back().bytes;
  t.code->call.parallel_for = in_odd_tasks;
  ASSERT_EQ(t.run(), 0);
  EXPECT_TRUE(once == t.outputs.back().bytes);
}

TEST(collapsed_rows, sums_of_products) {
  for (const std::vector<std::int64_t>& extents : {std::vector<std::int64_t>{9, 13, 11, 523}, {3, 1, 700, 600}}) {
    trial t = trial_of(product);
    t.random("x", extents).random("y", extents);
    expect_collapsed(t);
  }
}

TEST(collapsed_rows, ranges_that_begin_inside) {
  constexpr auto inner = define<"inner">(f) = max(
      over(b, h.in(2_c, extent(x, dim<1>) - 1_c), w.in(1_c, 30_c)), x(b, h, w, f) - x(b, h - 2_c, w, f));
  trial t = trial_of(inner);
  t.random("x", {9, 14, 31, 515});
  expect_collapsed(t);
}

TEST(collapsed_rows, of_a_mask) {
  constexpr auto masked = define<"masked">(f) = mean(over(b, h, w.where(keep(b, h, w))), x(b, h, w, f));
  trial t = trial_of(masked);
  std::vector<double> some(9 * 13 * 11);
  for (std::size_t k = 0; k < some.size(); ++k) some[k] = k % 3 != 0;
  t.random("x", {9, 13, 11, 520}).with("keep", {9, 13, 11}, some);
  expect_collapsed(t);
}

TEST(collapsed_rows, gaps_between_rows) {
  trial t = trial_of(product);
  t.random("x", {9, 13, 11, 523}).random("y", {9, 13, 11, 523});
  memory& apart = t.inputs[t.slot("x")];
  memory moved = memory::dense(element::f32, {9, 14, 12, 530});
  moved.extents = apart.extents;
  for (std::int64_t k = 0; k < apart.count(); ++k) moved.put<float>(k, apart.get<float>(k));
  apart = moved;
  expect_collapsed(t);
}

// Means and variances of a batch, and what is normalised by them.
TEST(collapsed_rows, batch_norm_of_channels_last) {
  constexpr auto mu = define<"mu">(f) = mean(over(b, h, w), x(b, h, w, f));
  constexpr auto spread = define<"spread">(f) =
      mean(over(b, h, w), (x(b, h, w, f) - mu(f)) * (x(b, h, w, f) - mu(f)));
  constexpr auto normal = define<"normal">(b, h, w, f) = (x(b, h, w, f) - mu(f)) / sqrt(spread(f) + 0.01_c);
  constexpr auto loss = define<"loss">() = sum(over(b, h, w, f), normal(b, h, w, f) * y(b, h, w, f));
  trial t = trial_of(normal, grad(loss, x));
  t.random("x", {5, 7, 19, 521}).random("y", {5, 7, 19, 521});
  EXPECT_TRUE(is_collapsed(t)) << t.plan_text();
  t.expect_right(1e-4);
}

// Short rows, few of them, or none: nothing is collapsed, or nothing folded.
TEST(collapsed_rows, small_ones_are_left) {
  for (const std::vector<std::int64_t>& extents :
       {std::vector<std::int64_t>{9, 13, 11, 5}, {2, 2, 2, 600}, {9, 0, 11, 523}}) {
    trial t = trial_of(product);
    t.random("x", extents).random("y", extents);
    EXPECT_FALSE(is_collapsed(t)) << t.plan_text();
    t.expect_right(1e-5);
  }
}

}  // namespace
}  // namespace sheaf::test::collapsed_rows_tests
