// Rows shared by several stages: partial results updated beside maps, reductions as guests of loops that write, strips of
// what is costly, sums that each block centres by itself. Values against the evaluator, and what the plan says of it.
#include <cmath>
#include <limits>

#include "plan_harness.hpp"

namespace sheaf::test {
namespace {

constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto o = axis<"o">;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto dy = tensor<"dy", float, 2>;
constexpr auto gain = tensor<"gain", float, 1>;
constexpr auto v = tensor<"v", float, 1>;
constexpr auto ids = tensor<"ids", std::int64_t, 1>;

bool says(trial& t, const char* words) { return t.plan_text().find(words) != std::string::npos; }

std::size_t kernels_of(trial& t) {
  t.plan_text();
  return t.p->plan.kernels.size();
}

std::string code_of(trial& t) {
  t.plan_text();
  return ir::print(t.p->code);
}

std::size_t count_of(const std::string& text, const std::string& word) {
  std::size_t n = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++n;
  return n;
}

// A layer norm with the gradients of its input and its gain: rows are read by one kernel.
constexpr auto centre = define<"centre">(i) = mean(j, x(i, j));
constexpr auto spread = define<"spread">(i) = mean(j, (x(i, j) - centre(i)) * (x(i, j) - centre(i)));
constexpr auto normal = define<"normal">(i, j) = gain(j) * (x(i, j) - centre(i)) * rsqrt(spread(i) + 0.1_c);
constexpr auto loss = define<"loss">() = sum(over(i, j), normal(i, j) * dy(i, j));

TEST(plan_rows, layer_norm_with_parameter_gradients) {
  for (const auto& shape :
       std::vector<std::vector<std::int64_t>>{{700, 150}, {257, 64}, {130, 1000}, {3000, 33}, {64, 5}}) {
    trial t = trial_of(normal, grad(loss, x), grad(loss, gain));
    t.random("x", shape).random("dy", shape).random("gain", {shape[1]});
    if (shape[0] * shape[1] > 100000) {
      EXPECT_TRUE(says(t, "updated row by row")) << t.plan_text();
      EXPECT_LE(kernels_of(t), 2u) << t.plan_text();
    }
    t.expect_right(1e-4);
  }
}
TEST(plan_rows, transposed_inputs_and_outputs) {
  trial t = trial_of(normal, grad(loss, x), grad(loss, gain));
  t.random("x", {700, 150}, true).random("dy", {700, 150}).random("gain", {150});
  t.turned_outputs = true;
  t.expect_right(1e-4);
}
TEST(plan_rows, column_means_beside_their_gradient) {
  constexpr auto y = define<"y">(j) = mean(i, x(i, j));
  constexpr auto dx = vjp(y, x, v);
  for (const auto& shape : std::vector<std::vector<std::int64_t>>{{1000, 300}, {400, 1025}, {129, 700}}) {
    trial t = trial_of(y, dx);
    t.random("x", shape).random("v", {shape[1]});
    EXPECT_TRUE(says(t, "updated row by row")) << t.plan_text();
    t.expect_right(1e-4);
  }
}
// Value and gradient of a mean over everything: each element is read once and written once, in one loop.
TEST(plan_rows, a_loss_and_its_gradient_read_once) {
  constexpr auto square = define<"square">() = mean(over(i, j), (x(i, j) - 1_c) * (x(i, j) - 1_c));
  for (const auto& shape : std::vector<std::vector<std::int64_t>>{{300, 1500}, {2000, 100}, {70, 4099}}) {
    trial t = trial_of(square, grad(square, x));
    t.random("x", shape);
    if (shape[1] >= 1024) {
      EXPECT_EQ(count_of(code_of(t), "load contiguous x["), 1u) << code_of(t);
    }
    t.expect_right(1e-5);
  }
}
TEST(plan_rows, a_loss_of_one_dimension_and_its_gradient) {
  constexpr auto square = define<"square">() = sum(i, v(i) * v(i));
  trial t = trial_of(square, grad(square, v));
  t.random("v", {300001});
  EXPECT_EQ(count_of(code_of(t), "load contiguous v["), 1u) << code_of(t);
  t.expect_right(1e-5);
}
// The exponentials of a softmax are computed once, kept in a strip, and its gradient's dot product is a guest.
TEST(plan_rows, softmax_keeps_its_exponentials) {
  constexpr auto top = define<"top">(i) = max(j, x(i, j));
  constexpr auto total = define<"total">(i) = sum(j, exp(x(i, j) - top(i)));
  constexpr auto soft = define<"soft">(i, j) = exp(x(i, j) - top(i)) / total(i);
  constexpr auto dx = vjp(soft, x, dy);
  for (const auto& shape : std::vector<std::vector<std::int64_t>>{{300, 1000}, {2000, 17}, {40, 5000}}) {
    trial t = trial_of(soft, dx);
    t.random("x", shape).random("dy", shape);
    EXPECT_EQ(count_of(code_of(t), " = exp "), 1u) << code_of(t);
    t.expect_right(1e-4);
  }
  trial wide = trial_of(soft, dx);  // longer than a strip may be
  wide.random("x", {20, 20000}).random("dy", {20, 20000}).expect_right(1e-4);
}
TEST(plan_rows, cross_entropy_with_its_gradient_is_one_pass) {
  constexpr auto top = define<"top">(i) = max(j, x(i, j));
  constexpr auto total = define<"total">(i) = sum(j, exp(x(i, j) - top(i)));
  constexpr auto entropy = define<"entropy">() = mean(i, log(total(i)) + top(i) - x(i, ids(i)));
  trial t = trial_of(entropy, grad(entropy, x));
  t.random("x", {500, 700}).below("ids", {500}, 700);
  EXPECT_EQ(count_of(code_of(t), " = exp "), 1u) << code_of(t);
  t.expect_right(1e-4);
}

// Centred by block.
constexpr auto lse = define<"lse">(j) = logsumexp(i, x(i, j));
constexpr auto column_mean = define<"column_mean">(j) = mean(i, x(i, j));
constexpr auto variance = define<"variance">(j) = mean(i, (x(i, j) - column_mean(j)) * (x(i, j) - column_mean(j)));

TEST(plan_rows, columns_read_once_for_dependent_sums) {
  for (const auto& shape : std::vector<std::vector<std::int64_t>>{{5000, 300}, {4100, 513}}) {
    trial a = trial_of(lse);
    a.random("x", shape);
    EXPECT_EQ(kernels_of(a), 2u) << a.plan_text();
    a.expect_right(1e-5);
    trial b = trial_of(variance);
    b.random("x", shape);
    EXPECT_EQ(kernels_of(b), 2u) << b.plan_text();
    b.expect_right(1e-5);
  }
}
// Blocks of -inf alone, infinities and NaN in one block of many.
TEST(plan_rows, edges_of_centred_blocks) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  const std::int64_t rows = 5000, columns = 300;
  std::vector<double> values(static_cast<std::size_t>(rows * columns));
  for (std::size_t k = 0; k < values.size(); ++k) values[k] = static_cast<double>(k * 7919 % 1000) * 0.001 - 120;
  for (std::int64_t r = 0; r < rows; ++r) {
    const auto row = static_cast<std::size_t>(r * columns);
    if (r < 3000) values[row] = -inf;
    values[row + 1] = -inf;
    if (r == 4000) values[row + 2] = inf;
    if (r == 10) values[row + 3] = std::nan("");
  }
  trial t = trial_of(lse);
  t.with("x", {rows, columns}, values).expect_right(1e-6);
}

}  // namespace
}  // namespace sheaf::test
