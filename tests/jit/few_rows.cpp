// A few rows that are long: what is folded along each is cut, also within a fold over the rows, and what stands before
// a map along them is stored, so that tasks take parts of rows.
#include "plan_harness.hpp"

namespace sheaf::test::few_rows_tests {
namespace {

constexpr auto t = axis<"t">;
constexpr auto u = axis<"u">;
constexpr auto c = axis<"c">;
constexpr auto h = axis<"h">;
constexpr auto w = axis<"w">;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto id = tensor<"id", std::int64_t, 1>;
constexpr auto image = tensor<"image", float, 4>;
constexpr auto z = tensor<"z", double, 2>;
constexpr auto halves = tensor<"halves", bfloat16, 2>;
constexpr std::int64_t rows = 3, columns = 70001;

bool says(trial& of, const char* part) { return of.plan_text().find(part) != std::string::npos; }

void expect_same_in_odd_tasks(trial& of, double tolerance = 2e-5) {
  of.expect_right(tolerance);
  const auto once = of.outputs.back().bytes;
  of.code->call.parallel_for = in_odd_tasks;
  ASSERT_EQ(of.run(), 0);
  EXPECT_TRUE(once == of.outputs.back().bytes);
}

TEST(few_rows, cross_entropy) {
  constexpr auto loss = define<"loss">() = mean(t, logsumexp(u, x(t, u)) - x(t, id(t)));
  trial value = trial_of(loss);
  value.random("x", {rows, columns}).below("id", {rows}, columns);
  expect_same_in_odd_tasks(value);
  EXPECT_TRUE(says(value, "kernel partial, parallel over u_block")) << value.plan_text();
  trial both = trial_of(loss, grad(loss, x));
  both.random("x", {rows, columns}).below("id", {rows}, columns);
  expect_same_in_odd_tasks(both);
  EXPECT_TRUE(says(both, "rules: few rows") || says(both, ", few rows")) << both.plan_text();
}

TEST(few_rows, softmax_and_norms) {
  constexpr auto soft_of = define<"soft">(t, u) = exp(x(t, u) - logsumexp(c, x(t, c)));
  trial soft = trial_of(soft_of);
  soft.random("x", {rows, columns});
  expect_same_in_odd_tasks(soft);
  constexpr auto norms = define<"norms">() = sum(t, sqrt(sum(u, z(t, u) * z(t, u))));
  trial both = trial_of(norms, grad(norms, z));
  both.random("z", {rows, columns});
  expect_same_in_odd_tasks(both);
  constexpr auto mu = define<"mu">(t) = mean(u, x(t, u));
  constexpr auto spread = define<"spread">(t) = mean(u, (x(t, u) - mu(t)) * (x(t, u) - mu(t)));
  constexpr auto normal = define<"normal">(t, u) = (x(t, u) - mu(t)) / sqrt(spread(t) + 1_c);
  trial layer = trial_of(normal);
  layer.random("x", {2, columns});
  expect_same_in_odd_tasks(layer);
}

TEST(few_rows, one_row_and_none) {
  constexpr auto norms = define<"norms">(t, u) = x(t, u) / sqrt(sum(u, x(t, u) * x(t, u)) + 1_c);
  for (const std::int64_t n : {0, 1, 15}) {
    trial of = trial_of(norms);
    of.random("x", {n, n == 15 ? 20011 : columns});
    of.expect_right();
  }
}

TEST(few_rows, images) {
  constexpr auto mu = define<"mu">(c) = mean(over(t, h, w), image(t, c, h, w));
  constexpr auto spread =
      define<"spread">(c) = mean(over(t, h, w), (image(t, c, h, w) - mu(c)) * (image(t, c, h, w) - mu(c)));
  for (const std::vector<std::int64_t>& extents :
       {std::vector<std::int64_t>{1, 3, 150, 301}, {7, 3, 64, 65}, {16, 5, 7, 7}, {1, 3, 1, 100}}) {
    trial of = trial_of(mu, spread);
    of.random("image", extents);
    expect_same_in_odd_tasks(of);
  }
}

// Where the greatest stands: of equals the first, of NaN the first; in blocks, at their ends, and of halves.
TEST(few_rows, positions) {
  constexpr auto greatest = define<"greatest">(t) = argmax(u, x(t, u));
  constexpr auto least = define<"least">() = argmin(u, x(0_c, u));
  std::vector<double> values(rows * columns, 1);
  for (const std::int64_t at : {8191, 8192, 40000}) values[static_cast<std::size_t>(at)] = 2;
  values[columns + 8192] = std::numeric_limits<double>::quiet_NaN(), values[columns + 9000] = 7;
  values[3 * columns - 1] = 3;
  values[30000] = values[60000] = -2;
  trial of = trial_of(greatest, least);
  of.with("x", {rows, columns}, values);
  expect_same_in_odd_tasks(of);
  EXPECT_TRUE(says(of, "kernel partial, parallel over u_block")) << of.plan_text();
  EXPECT_EQ(of.outputs[0].get<std::int64_t>(0), 8191);
  EXPECT_EQ(of.outputs[0].get<std::int64_t>(1), 8192);
  EXPECT_EQ(of.outputs[0].get<std::int64_t>(2), columns - 1);
  EXPECT_EQ(of.outputs[1].get<std::int64_t>(0), 30000);
  constexpr auto first = define<"first">(t) = argmax(u, halves(t, u));
  trial small = trial_of(first);
  small.random("halves", {rows, columns});
  expect_same_in_odd_tasks(small);
  trial empty = trial_of(greatest);
  empty.random("x", {rows, 0});
  empty.expect_right();
}

}  // namespace
}  // namespace sheaf::test::few_rows_tests
