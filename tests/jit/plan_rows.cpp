// Rows shared by several stages: partial results updated beside maps, reductions as siblings of loops that write,
// scratch rows of what is costly, sums that each block centres by itself. Values against the evaluator, and what the
// plan says of it.
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "plan_harness.hpp"

namespace sheaf::test::plan_rows_tests {
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
      EXPECT_EQ(count_of(code_of(t), " = fold_lanes "), 4u)
          << code_of(t);  // each sum of a row once, for all that need it
    }
    t.expect_right(1e-4);
  }
}
// A factor that needs the row first stands after the sum, so one pass is enough; of no elements there is no factor.
TEST(plan_rows, factors_that_wait_stand_after_sums) {
  constexpr auto weighed = define<"weighed">(i) = sum(j, x(i, j) * centre(i));
  trial t = trial_of(weighed);
  t.random("x", {40, 300});
  EXPECT_EQ(count_of(code_of(t), "vector "), 1u) << code_of(t);
  t.expect_right(1e-5);
  trial none = trial_of(weighed);
  none.random("x", {7, 0}).expect_right(1e-5);
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
// The exponentials of a softmax are computed once, kept in a scratch row, and its gradient's dot product is a sibling.
TEST(plan_rows, softmax_keeps_its_exponentials) {
  constexpr auto top = define<"top">(i) = max(j, x(i, j));
  constexpr auto total = define<"total">(i) = sum(j, exp(x(i, j) - top(i)));
  constexpr auto soft = define<"soft">(i, j) = exp(x(i, j) - top(i)) / total(i);
  constexpr auto dx = vjp(soft, x, dy);
  for (const auto& shape : std::vector<std::vector<std::int64_t>>{{300, 1000}, {2000, 17}, {40, 5000}}) {
    trial t = trial_of(soft, dx);
    t.random("x", shape).random("dy", shape);
    EXPECT_EQ(count_of(code_of(t), " = exp "), 1u) << code_of(t);
    EXPECT_EQ(count_of(t.plan_text(), "exp is computed once for all loops"), 1u) << t.plan_text();
    t.expect_right(1e-4);
  }
  trial wide = trial_of(soft, dx);  // longer than a scratch row may be
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

// A mean over the rows beside a gradient that needs none of them: a row is one stream of memory.
constexpr auto mean_of_column = define<"mean_of_column">(j) = mean(i, x(i, j));
constexpr auto mean_loss = define<"mean_loss">() = sum(j, mean_of_column(j) * v(j));

TEST(plan_rows, row_after_row) {
  for (const std::int64_t rows : {1001, 1024, 515}) {
    trial t = trial_of(mean_of_column, grad(mean_loss, x));
    t.random("x", {rows, 300}).random("v", {300});
    EXPECT_TRUE(says(t, "updated row by row")) << t.plan_text();
    EXPECT_EQ(code_of(t).find("_rows"), std::string::npos) << code_of(t);
    t.expect_right(1e-5);
  }
}

// Gradients that need the whole column first.
constexpr auto length = define<"length">(j) = sqrt(sum(i, x(i, j) * x(i, j)));
constexpr auto length_loss = define<"length_loss">() = sum(j, length(j) * v(j));
constexpr auto log_of_column = define<"log_of_column">(j) = logsumexp(i, x(i, j));
constexpr auto log_loss = define<"log_loss">() = sum(j, log_of_column(j) * v(j));

// The maximum so far moves once for several rows, and what was summed with it.
TEST(plan_rows, rows_at_once) {
  for (const std::int64_t rows : {1001, 1024, 515}) {
    trial t = trial_of(log_of_column);
    t.random("x", {rows, 600});
    EXPECT_NE(code_of(t).find("_rows"), std::string::npos) << code_of(t);
    EXPECT_NE(t.plan_text().find(" at once\n"), std::string::npos) << t.plan_text();
    t.expect_right(1e-5);
  }
}

constexpr auto spread_of_column = define<"spread_of_column">(j) =
    mean(i, (x(i, j) - mean_of_column(j)) * (x(i, j) - mean_of_column(j)));
constexpr auto spread_loss = define<"spread_loss">() = sum(j, spread_of_column(j) * v(j));

template <class Y, class Dx>
void expect_right_columns(Y y, Dx dx) {
  for (const std::int64_t columns : {512, 523}) {
    trial t = trial_of(y, dx);
    t.random("x", {150, columns}).random("v", {columns}).expect_right(1e-4);
  }
}
TEST(plan_rows, gradients_that_need_whole_columns) {
  expect_right_columns(length, grad(length_loss, x));
  expect_right_columns(log_of_column, grad(log_loss, x));
  expect_right_columns(spread_of_column, grad(spread_loss, x));
}

// Many columns: a few rows at a time are walked as they lie, whatever reads them later; few are summed down a scratch
// row of lanes.
TEST(plan_rows, wide_rows_are_walked_as_they_lie) {
  for (const std::int64_t rows : {2051, 3000}) {
    trial wide = trial_of(length);
    wide.random("x", {rows, 1100});
    EXPECT_TRUE(says(wide, "updated row by row")) << wide.plan_text();
    wide.expect_right(1e-5);
  }
  trial narrow = trial_of(length);
  narrow.random("x", {20000, 128});
  EXPECT_FALSE(says(narrow, "updated row by row")) << narrow.plan_text();
  narrow.expect_right(1e-5);
}

// Sums down columns that run beside each other have together the registers that one has alone.
TEST(plan_rows, sums_of_columns_share_the_registers) {
  constexpr auto shift = tensor<"shift", float, 1>;
  constexpr auto shifted = define<"shifted">() = sum(over(i, j), (normal(i, j) + shift(j)) * dy(i, j));
  trial t = trial_of(grad(shifted, gain), grad(shifted, shift));
  t.random("x", {3000, 256}).random("dy", {3000, 256}).random("gain", {256}).random("shift", {256});
  const std::string code = code_of(t), last = code.substr(code.rfind("\nkernel "));
  EXPECT_EQ(count_of(last, "f64v = accumulator"), 2u) << last;
  EXPECT_NE(last.find(" lanes 64"), std::string::npos) << last;
  EXPECT_EQ(last.find(" lanes 128"), std::string::npos) << last;
  t.expect_right(1e-4);
}

TEST(plan_rows, addresses_of_rows_stand_before_their_loops) {
  constexpr auto twice = define<"twice">(i, j) = x(i, j) + x(i, j);
  trial t = trial_of(twice);
  t.random("x", {40, 333});
  t.plan_text();
  sheaf_llvm_options options = default_options();
  options.want_ir = 1;
  const std::string text = program(t.p->code, options).code().llvm_ir;
  const std::size_t load = text.find(" load <"), block = text.rfind("\n\n", load);
  ASSERT_NE(load, std::string::npos) << text;
  EXPECT_EQ(text.substr(block, load - block).find(" mul "), std::string::npos) << text.substr(block, load - block);
}

// A sum's lanes are folded in f64: of many rows none is off by more than its own rounding and what lanes leave of
// theirs.
TEST(plan_rows, lanes_are_folded_in_f64) {
  constexpr auto row_mean = define<"row_mean">(i) = mean(j, x(i, j));
  trial t = trial_of(row_mean);
  t.random("x", {2000, 1000});
  const std::string code = code_of(t);
  EXPECT_NE(code.find("f64 = fold_lanes"), std::string::npos) << code;
  t.expect_right(1e-6);
}

// Off by no more than the rounding of a result to f32, and a hundredth of it.
void expect_rounded_once(trial& t, const std::vector<double>& wanted) {
  ASSERT_EQ(t.run(), 0);
  for (std::size_t k = 0; k < wanted.size(); ++k) {
    const float nearest = static_cast<float>(wanted[k]);
    const double half = static_cast<double>(std::nextafter(nearest, 2 * nearest) - nearest) / 2;
    ASSERT_LE(std::abs(t.outputs[0].real(static_cast<std::int64_t>(k)) - wanted[k]), 1.01 * std::abs(half))
        << "result " << k;
  }
}

std::vector<double> uniform_values(std::int64_t count) {
  std::mt19937_64 bits(11);
  std::uniform_real_distribution<float> uniform(-4, 4);
  std::vector<double> values;
  for (std::int64_t k = 0; k < count; ++k) values.push_back(static_cast<double>(uniform(bits)));
  return values;
}

// Rows of more elements than that a lane could add them in f32 unseen.
TEST(plan_rows, variances_of_long_rows_are_rounded_once) {
  constexpr auto centre = define<"centre">(i) = mean(j, x(i, j));
  constexpr auto spread = define<"spread">(i) = mean(j, (x(i, j) - centre(i)) * (x(i, j) - centre(i)));
  const std::int64_t rows = 100, columns = 9001;
  const std::vector<double> values = uniform_values(rows * columns);
  std::vector<double> wanted;
  for (std::int64_t r = 0; r < rows; ++r) {
    const auto from = values.begin() + r * columns;
    const double m = std::accumulate(from, from + columns, 0.0) / static_cast<double>(columns);
    double squares = 0;
    for (std::int64_t c = 0; c < columns; ++c) squares += (from[c] - m) * (from[c] - m);
    wanted.push_back(squares / static_cast<double>(columns));
  }
  trial t = trial_of(spread);
  t.with("x", {rows, columns}, values);
  expect_rounded_once(t, wanted);
}

TEST(plan_rows, sums_of_gathered_elements_are_rounded_once) {
  constexpr auto k = axis<"k">;
  constexpr auto picked = define<"picked">() = sum(k, v(ids(k)) * v(ids(k)));
  const std::int64_t count = 30011, size = 4001;
  const std::vector<double> values = uniform_values(size);
  std::vector<double> places;
  double wanted = 0;
  for (std::int64_t n = 0; n < count; ++n) {
    places.push_back(static_cast<double>(n * 7919 % size));
    const float one = static_cast<float>(values[static_cast<std::size_t>(places.back())]);
    wanted += static_cast<double>(one * one);
  }
  trial t = trial_of(picked);
  t.with("v", {size}, values).with("ids", {count}, places);
  expect_rounded_once(t, {wanted});
}

// Whole numbers whose sums f32 does not hold: they are scaled before the one rounding.
TEST(plan_rows, scaled_sums_are_rounded_once) {
  constexpr auto scaled = define<"scaled">(i) = sum(j, x(i, j)) / maximum(extent(x, dim<1>) - 1_c, 0_c);
  constexpr auto tenth = define<"tenth">(i) = sum(j, x(i, j)) * 0.1_c;
  const std::int64_t rows = 64, columns = 9001;
  std::vector<double> whole;
  for (std::int64_t k = 0; k < rows * columns; ++k) whole.push_back(static_cast<double>(k * 7919 % 4093));
  trial t = trial_of(scaled, tenth);
  t.with("x", {rows, columns}, whole);
  ASSERT_EQ(t.run(), 0);
  for (std::int64_t r = 0; r < rows; ++r) {
    double sum = 0;
    for (std::int64_t c = 0; c < columns; ++c) sum += whole[static_cast<std::size_t>(r * columns + c)];
    ASSERT_EQ(t.outputs[0].real(r), static_cast<double>(static_cast<float>(sum / (columns - 1)))) << "row " << r;
    ASSERT_EQ(t.outputs[1].real(r), static_cast<double>(static_cast<float>(sum * static_cast<double>(0.1F))))
        << "row " << r;
  }
}

// Columns are no rows: where a partial result's elements lie beside each other, they are folded in lanes.
TEST(plan_rows, short_columns_with_their_sum) {
  constexpr auto normed = define<"normed">(i, j) = x(i, j) * rsqrt(mean(o, x(o, j) * x(o, j)) + 1_c);
  constexpr auto loss = define<"loss">() = sum(over(i, j), normed(i, j) * dy(i, j));
  trial value = trial_of(loss), both = trial_of(loss, grad(loss, x));
  for (trial* test : {&value, &both}) {
    test->random("x", {12, 16760}).random("dy", {12, 16760});
    EXPECT_FALSE(says(*test, "updated row by row")) << test->plan_text();
    test->expect_right(1e-4);
  }
}

}  // namespace
}  // namespace sheaf::test::plan_rows_tests
