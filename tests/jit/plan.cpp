// From expressions through plan and kernel IR to machine code, against the slow evaluator.
#include "plan_harness.hpp"

#include <support/golden.hpp>

namespace sheaf::test::plan_tests {
namespace {

constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto k = axis<"k">;
constexpr auto m = axis<"m">;
constexpr auto b = axis<"b">;
constexpr auto t = axis<"t">;
constexpr auto f = axis<"f">;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto y = tensor<"y", float, 2>;
constexpr auto x3 = tensor<"x3", float, 3>;
constexpr auto cut = tensor<"cut", std::int64_t, 2>;
constexpr auto pick = tensor<"pick", std::int64_t, 2>;

TEST(plan, elementwise) {
  constexpr auto out = define<"out">(i, j) = x(i, j) * x(i, j) + exp(x(i, j));
  trial_of(out).random("x", {5, 37}).expect_right();
}
TEST(plan, row_sum) {
  constexpr auto out = define<"out">(i) = sum(j, x(i, j));
  trial_of(out).random("x", {33, 70}).expect_right();
}
TEST(plan, column_sum) {
  constexpr auto out = define<"out">(j) = sum(i, x(i, j));
  trial_of(out).random("x", {33, 70}).expect_right();
}
TEST(plan, row_mean_of_transposed) {
  constexpr auto out = define<"out">(i) = mean(j, x(i, j));
  trial_of(out).random("x", {33, 70}, true).expect_right();
}
TEST(plan, total) {
  constexpr auto out = define<"out">() = mean(over(i, j), x(i, j) * x(i, j));
  trial_of(out).random("x", {33, 70}).expect_right();
}
TEST(plan, large_total_is_split) {
  constexpr auto out = define<"out">() = sum(over(i, j), x(i, j));
  trial test = trial_of(out);
  test.random("x", {500, 300}).expect_right(1e-4);
  EXPECT_NE(test.p->text.find("partial"), std::string::npos) << test.p->text;
}
TEST(plan, value_and_gradient_of_square) {
  constexpr auto loss = define<"loss">() = mean(over(i, j), (x(i, j) - 1_c) * (x(i, j) - 1_c));
  trial_of(loss, grad(loss, x)).random("x", {129, 70}).expect_right();
}
TEST(plan, softmax_and_gradient) {
  constexpr auto top = define<"top">(i) = max(j, x(i, j));
  constexpr auto e = define<"e">(i, j) = exp(x(i, j) - top(i));
  constexpr auto soft = define<"soft">(i, j) = e(i, j) / sum(k.in(0_c, extent(x, dim<1>)), e(i, k));
  constexpr auto loss = define<"loss">() = sum(over(i, j), soft(i, j) * y(i, j));
  trial_of(soft).random("x", {40, 70}).expect_right();
  trial_of(soft, loss, grad(loss, x)).random("x", {40, 70}).random("y", {40, 70}).expect_right();
}
TEST(plan, layer_norm_and_gradient) {
  constexpr auto mu = define<"mu">(i) = mean(j, x(i, j));
  constexpr auto var = define<"var">(i) = mean(j, (x(i, j) - mu(i)) * (x(i, j) - mu(i)));
  constexpr auto gain = tensor<"gain", float, 1>;
  constexpr auto norm = define<"norm">(i, j) = gain(j) * (x(i, j) - mu(i)) * rsqrt(var(i) + 0.00001_c);
  constexpr auto loss = define<"loss">() = sum(over(i, j), norm(i, j) * y(i, j));
  trial_of(norm).random("x", {40, 70}).random("gain", {70}).expect_right();
  trial_of(norm, grad(loss, x), grad(loss, gain))
      .random("x", {40, 70})
      .random("y", {40, 70})
      .random("gain", {70})
      .expect_right();
}
TEST(plan, matrix_product_and_gradients) {
  constexpr auto c = define<"c">(i, j) = sum(k, x(i, k) * y(k, j));
  constexpr auto loss = define<"loss">() = sum(over(i, j), c(i, j) * c(i, j));
  trial_of(c, loss, grad(loss, x), grad(loss, y)).random("x", {17, 23}).random("y", {23, 29}).expect_right();
}
TEST(plan, slice_mean_and_gradient) {
  constexpr auto pooled = define<"pooled">(m, f) = mean(t.in(cut(m, 0_c), cut(m, 1_c)), x(t, f));
  constexpr auto loss = define<"loss">() = sum(over(m, f), pooled(m, f) * pooled(m, f));
  trial test = trial_of(pooled, loss, grad(loss, x));
  std::vector<double> rows;
  for (int n = 0; n < 40; ++n) rows.push_back(n);
  test.with("x", {10, 4}, rows).with("cut", {4, 2}, {3, 5, 1, 8, 4, 8, 6, 9});
  test.expect_right();
  EXPECT_NE(test.p->text.find("range scatter"), std::string::npos) << test.p->text;
  EXPECT_EQ(test.outputs[0].real(0), 14);
  EXPECT_EQ(test.outputs[0].real(15), 31);
}
TEST(plan, gather_mean_and_gradient) {
  constexpr auto pooled = define<"pooled">(b, f) = mean(k, x3(b, pick(b, k), f));
  constexpr auto loss = define<"loss">() = sum(over(b, f), pooled(b, f) * pooled(b, f));
  trial test = trial_of(pooled, loss, grad(loss, x3));
  test.random("x3", {4, 7, 5}).below("pick", {4, 3}, 7).expect_right();
  EXPECT_NE(test.p->text.find("scatter"), std::string::npos) << test.p->text;
}
TEST(plan, index_out_of_range_is_found_before_anything_is_written) {
  constexpr auto pooled = define<"pooled">(b, f) = mean(k, x3(b, pick(b, k), f));
  trial test = trial_of(pooled);
  test.random("x3", {4, 7, 5}).with("pick", {4, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 0, 1, -1, 3});
  EXPECT_EQ(test.run(), SHEAF_BAD_INDEX);
  EXPECT_EQ(test.code->failure.check, 0);
  EXPECT_EQ(test.code->failure.position, 7);
  EXPECT_EQ(test.outputs[0].bytes[0], 0xCD);
}
TEST(plan, slice_out_of_range) {
  constexpr auto pooled = define<"pooled">(m, f) = mean(t.in(cut(m, 0_c), cut(m, 1_c)), x(t, f));
  for (const std::vector<double>& bad : {std::vector<double>{3, 5, 1, 8, 4, 11, 6, 9}, {3, 5, 1, 8, -1, 8, 6, 9}}) {
    trial test = trial_of(pooled);
    test.random("x", {10, 4}).with("cut", {4, 2}, bad);
    EXPECT_EQ(test.run(), SHEAF_BAD_INDEX) << test.plan_text();
    EXPECT_EQ(test.code->failure.position, 2);
    EXPECT_EQ(test.outputs[0].bytes[0], 0xCD);
  }
}
TEST(plan, empty_ranges) {
  constexpr auto total = define<"total">(m, f) = sum(t.in(cut(m, 0_c), cut(m, 1_c)), x(t, f));
  trial_of(total).random("x", {10, 4}).with("cut", {3, 2}, {3, 3, 0, 0, 10, 10}).expect_right();
  // they end before they begin
  trial_of(total).random("x", {10, 4}).with("cut", {3, 2}, {8, 4, 30, -2, 2, 6}).expect_right();
}
TEST(plan, zero_extents) {
  constexpr auto rows = define<"rows">(i) = sum(j, x(i, j));
  constexpr auto columns = define<"columns">(j) = sum(i, x(i, j));
  trial_of(rows, columns).random("x", {0, 4}).expect_right();
  trial_of(rows, columns).random("x", {4, 0}).expect_right();
}
TEST(plan, argmax_and_masks) {
  constexpr auto best = define<"best">(i) = argmax(j, x(i, j));
  constexpr auto positive = define<"positive">(i) = sum(j.where(x(i, j) > 0_c), x(i, j));
  constexpr auto some = define<"some">(i) = any(j, x(i, j) > 0.95_c);
  trial_of(best, positive, some).random("x", {40, 70}).expect_right();
}
TEST(plan, one_hot_mean) {
  constexpr auto pooled = define<"pooled">(b, f) = mean(t.where(any(k, pick(b, k) == t)), x3(b, t, f));
  trial test = trial_of(pooled);
  test.random("x3", {4, 7, 5}).below("pick", {4, 3}, 7).expect_right();
  EXPECT_NE(test.p->text.find("scatter"), std::string::npos) << test.p->text;
}
// Lanes that would gather have the loop along these rows within them, where there are tasks enough; so each line is
// read once. The same values in every shape.
TEST(plan, transposes_loop_within_the_lanes) {
  constexpr auto turned = define<"turned">(j, i) = x(i, j);
  constexpr auto sum_of_both = define<"sum_of_both">(j, i) = exp(x(i, j)) + y(j, i);
  for (const auto& [rows, columns] : {std::pair<std::int64_t, std::int64_t>{700, 300}, {300, 37}, {17, 500}, {0, 9}}) {
    trial t = trial_of(turned), both = trial_of(sum_of_both);
    t.random("x", {rows, columns});
    both.random("x", {rows, columns}).random("y", {columns, rows});
    EXPECT_EQ(rows >= 300, t.plan_text().find("loops: i, j; i in") != std::string::npos) << t.plan_text();
    if (rows == 700) {
      EXPECT_NE(ir::print(t.p->code).find("load transposed x"), std::string::npos) << ir::print(t.p->code);
    }
    t.expect_right(0);
    both.expect_right(1e-6);
  }
}

TEST(plan, window) {
  constexpr auto v = tensor<"v", float, 1>;
  constexpr auto w = tensor<"w", float, 1>;
  constexpr auto out = define<"out">(t) = w(t) * mean(k.in(0_c, 5_c), v(t + k));
  constexpr auto loss = define<"loss">() = sum(t, out(t));
  trial test = trial_of(out, grad(loss, v));
  test.random("v", {50}).random("w", {46}).expect_right();
  ASSERT_EQ(test.p->checks.size(), 1u);
  EXPECT_TRUE(test.p->checks[0].uniform);
}

TEST(plan, text_of_softmax_with_gradient) {
  constexpr auto top = define<"top">(i) = max(j, x(i, j));
  constexpr auto e = define<"e">(i, j) = exp(x(i, j) - top(i));
  constexpr auto soft = define<"soft">(i, j) = e(i, j) / sum(k.in(0_c, extent(x, dim<1>)), e(i, k));
  constexpr auto loss = define<"loss">() = sum(over(i, j), soft(i, j) * y(i, j));
  trial test = trial_of(soft, loss, grad(loss, x));
  test.random("x", {40, 70}).random("y", {40, 70}).make();
  EXPECT_TRUE(golden::same("softmax_with_gradient.plan", test.p->text));
  if (golden::updating()) return;
  EXPECT_FALSE(golden::same("softmax_with_gradient.plan", test.p->text + "another line\n"));
  EXPECT_FALSE(golden::same("no_such.plan", test.p->text));
}
TEST(plan, text_of_gather_mean_with_gradient) {
  constexpr auto pooled = define<"pooled">(b, f) = mean(k, x3(b, pick(b, k), f));
  constexpr auto loss = define<"loss">() = sum(over(b, f), pooled(b, f) * pooled(b, f));
  trial test = trial_of(pooled, loss, grad(loss, x3));
  test.random("x3", {32, 200, 64}).below("pick", {32, 10}, 200).make();
  EXPECT_TRUE(golden::same("gather_mean_with_gradient.plan", test.p->text));
}

}  // namespace
}  // namespace sheaf::test::plan_tests
