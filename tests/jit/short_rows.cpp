// Rows of a few elements, in lanes: softmax, norms, positions of extrema, and gradients. Values against the evaluator,
// for rows that fill no four columns, lanes that are not all there, strides and types.
#include <limits>

#include "plan_harness.hpp"

namespace sheaf::test::short_rows_tests {
namespace {

constexpr auto t = axis<"t">;
constexpr auto f = axis<"f">;
constexpr auto o = axis<"o">;
constexpr auto b = axis<"b">;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto z = tensor<"z", double, 2>;
constexpr auto w = tensor<"w", float, 1>;

bool is_short(trial& test) { return test.plan_text().find("along short rows") != std::string::npos; }

constexpr std::int64_t widths[] = {2, 3, 4, 7, 8, 9, 10, 16, 17, 31};

TEST(short_rows, softmax) {
  constexpr auto soft = define<"soft">(t, f) = exp(x(t, f) - logsumexp(o, x(t, o)));
  constexpr auto logs = define<"logs">(t, f) = z(t, f) - logsumexp(o, z(t, o));
  for (const std::int64_t width : widths)
    for (const std::int64_t rows : {256, 301}) {
      SCOPED_TRACE(testing::Message() << rows << " rows of " << width);
      trial one = trial_of(soft), two = trial_of(logs);
      one.random("x", {rows, width});
      two.random("z", {rows, width});
      for (trial* test : {&one, &two}) {
        EXPECT_TRUE(is_short(*test)) << test->plan_text();
        test->expect_right(1e-5);
      }
    }
}

// The largest value's exponential is computed once, and each element of a row loaded once.
TEST(short_rows, are_kept_in_lanes) {
  constexpr auto soft = define<"soft">(t, f) = exp(x(t, f) - logsumexp(o, x(t, o)));
  trial test = trial_of(soft);
  test.random("x", {300, 12});
  EXPECT_NE(test.plan_text().find("a load is computed once"), std::string::npos) << test.plan_text();
}

TEST(short_rows, reductions) {
  constexpr auto most = define<"most">(t) = argmax(o, x(t, o));
  constexpr auto sums = define<"sums">(t) = sum(o, x(t, o) * w(o));
  constexpr auto whole = define<"whole">(t) = logsumexp(o, z(t, o));
  for (const std::int64_t width : widths) {
    SCOPED_TRACE(testing::Message() << "rows of " << width);
    trial first = trial_of(most), second = trial_of(sums), third = trial_of(whole);
    first.random("x", {300, width});
    second.random("x", {300, width}).random("w", {width});
    third.random("z", {300, width});
    EXPECT_TRUE(is_short(first)) << first.plan_text();
    for (trial* test : {&first, &second, &third}) {
      EXPECT_TRUE(width <= 8 || is_short(*test)) << test->plan_text();
      test->expect_right(1e-5);
      const auto once = test->outputs.back().bytes;
      test->code->call.parallel_for = in_odd_tasks;
      ASSERT_EQ(test->run(), 0);
      EXPECT_TRUE(once == test->outputs.back().bytes);
    }
  }
}

// What a condition asks of short rows is folded in lanes, too: how many rows have their greatest where it should be.
TEST(short_rows, conditions_of_sums) {
  constexpr auto y = tensor<"y", std::int64_t, 1>;
  constexpr auto right = define<"right">() = count(t, y(t) == argmax(o, x(t, o)));
  constexpr auto weight = define<"weight">() = sum(t.where(y(t) < 2_c && max(o, x(t, o)) > 0.5_c), w(t));
  for (const std::int64_t width : {3, 10, 17}) {
    trial one = trial_of(right), two = trial_of(weight);
    for (trial* test : {&one, &two}) test->random("x", {301, width}).below("y", {301}, width);
    two.random("w", {301});
    for (trial* test : {&one, &two}) {
      EXPECT_TRUE(is_short(*test)) << test->plan_text();
      test->expect_right(1e-5);
    }
  }
}

// Places of extrema in lanes: of equal ones the first, and of NaN the first.
TEST(short_rows, places_of_equal_extrema) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  constexpr auto most = define<"most">(t) = argmax(o, x(t, o));
  constexpr auto least = define<"least">(t) = argmin(o, z(t, o));
  for (const std::int64_t width : {5, 16, 64, 200}) {
    std::vector<double> values;
    for (std::int64_t k = 0; k < 300 * width; ++k) {
      const std::int64_t row = k / width, at = k % width;
      values.push_back(row % 5 == 0 ? 1 : row % 5 == 1 ? (at * 7 % 3) : row % 5 == 2 && at % 4 == 3 ? nan : -inf);
      if (row % 5 == 4) values.back() = at % 2 == 0 ? -0.0 : 0.0;
    }
    trial one = trial_of(most), two = trial_of(least);
    one.with("x", {300, width}, values);
    two.with("z", {300, width}, values);
    one.expect_right(0);
    two.expect_right(0);
  }
}

TEST(short_rows, norms_and_gradients) {
  constexpr auto centre = mean(o, x(t, o));
  constexpr auto spread = mean(o, (x(t, o) - centre) * (x(t, o) - centre));
  constexpr auto norm = define<"norm">(t, f) = (x(t, f) - centre) * rsqrt(spread + 1e-5_c) * w(f);
  constexpr auto soft = define<"soft">(t, f) = exp(x(t, f) - logsumexp(o, x(t, o)));
  for (const std::int64_t width : {3, 10, 20}) {
    trial one = trial_of(norm, vjp(norm, x), vjp(norm, w)), two = trial_of(soft, vjp(soft, x));
    one.random("x", {260, width}).random("w", {width}).random("cotangent_norm", {260, width});
    two.random("x", {260, width}).random("cotangent_soft", {260, width});
    for (trial* test : {&one, &two}) {
      EXPECT_TRUE(is_short(*test)) << test->plan_text();
      test->expect_right(1e-3);
    }
  }
}

// Rows that are folded again for each of a few others: centres, classes, weights.
TEST(short_rows, folded_again_for_a_few_others) {
  constexpr auto v = tensor<"v", float, 2>;
  constexpr auto score = sum(f, x(t, f) * v(o, f));
  constexpr auto apart = sum(f, (x(t, f) - v(o, f)) * (x(t, f) - v(o, f)));
  constexpr auto nearest = define<"nearest">(t) = argmin(o, apart);
  constexpr auto most = define<"most">(t) = max(o, score);
  constexpr auto whole = define<"whole">(t) = logsumexp(o, score);
  constexpr auto chosen = define<"chosen">(t) = sum(o.where(w(o) > 0_c), w(o) * relu(score));
  for (const std::int64_t width : {10, 20, 31})
    for (const std::int64_t others : {1, 10, 40}) {
      SCOPED_TRACE(testing::Message() << others << " others of " << width);
      trial first = trial_of(nearest), second = trial_of(most), third = trial_of(whole), fourth = trial_of(chosen);
      fourth.random("w", {others});
      for (trial* test : {&first, &second, &third, &fourth}) {
        test->random("x", {301, width}).random("v", {others, width});
        EXPECT_TRUE(is_short(*test)) << test->plan_text();
        test->expect_right(1e-5);
      }
      EXPECT_NO_FATAL_FAILURE(first.expect_same_elsewhere());
      EXPECT_NO_FATAL_FAILURE(third.expect_same_elsewhere());
    }
}

// Of rows that are one dimension with their columns, whose few terms are written out, too.
TEST(short_rows, positions_of_sums_that_are_written_out) {
  constexpr auto v = tensor<"v", float, 2>;
  constexpr auto nearest = define<"nearest">(t) = argmin(o, sum(f, (x(t, f) - v(o, f)) * (x(t, f) - v(o, f))));
  for (const std::int64_t width : {2, 3, 8})
    for (const std::int64_t others : {1, 5, 40}) {
      trial test = trial_of(nearest);
      test.random("x", {301, width}).random("v", {others, width});
      EXPECT_NE(test.plan_text().find("in 16 lanes"), std::string::npos) << test.plan_text();
      test.expect_right(0);
    }
}

// Rows that are no short ones: what is left over of whole registers meets lanes of the accumulators by groups.
TEST(short_rows, ends_of_longer_rows) {
  constexpr auto v = tensor<"v", float, 2>;
  constexpr auto y = tensor<"y", float, 1>;
  constexpr auto sums = define<"sums">(t) = sum(f.where(x(t, f) < 0.5_c), x(t, f) * y(f));
  constexpr auto wide = define<"wide">(t) = prod(f, z(t, f) + 1.5_c);
  constexpr auto place = define<"place">(t) = argmax(f, x(t, f) * y(f));
  constexpr auto greatest = define<"greatest">(t) = max(o, sum(f, x(t, f) * v(o, f)));
  constexpr auto any_of = define<"any_of">(t) = any(f, x(t, f) > 0.99_c);
  for (const std::int64_t width : {33, 39, 40, 48, 63, 65, 71, 100, 127}) {
    SCOPED_TRACE(testing::Message() << "rows of " << width);
    trial first = trial_of(sums, place), second = trial_of(wide), third = trial_of(greatest), fourth = trial_of(any_of);
    first.random("y", {width});
    third.random("v", {3, width});
    second.random("z", {1301, width});
    for (trial* test : {&first, &third, &fourth}) test->random("x", {1301, width});
    for (trial* test : {&first, &second, &third, &fourth}) {
      EXPECT_EQ(test->plan_text().find("size-optimised"), std::string::npos) << test->plan_text();
      test->expect_right(1e-5);
      EXPECT_NO_FATAL_FAILURE(test->expect_same_elsewhere());
    }
  }
}

// What several loops over others need of each is computed again: scratch rows hold rows.
TEST(short_rows, any_number_of_others) {
  constexpr auto v = tensor<"v", float, 2>;
  constexpr auto u = tensor<"u", float, 3>;
  constexpr auto greatest = max(o, x(t, o));
  constexpr auto of_scores = exp(sum(f, x(t, f) * v(o, f)) * 0.1_c);
  constexpr auto first = define<"first">(t) = sum(o, of_scores * w(o)) / sum(o, of_scores);
  constexpr auto second = define<"second">(t) =
      sum(b, exp(w(b) * greatest) * w(b)) / sum(b, exp(w(b) * greatest));
  constexpr auto masked = define<"masked">() = sum(t, logsumexp(o.where(w(o) > 0_c), sum(f, x(t, f) * v(o, f))));
  constexpr auto within = define<"within">(t) =
      max(o, sum(b.in(0_c, o + 1_c), relu(sum(f, x(t, f) * u(o, b, f)))));
  for (const std::int64_t others : {5, 66, 150}) {
    trial one = trial_of(first), two = trial_of(second), four = trial_of(within);
    trial three = others == 5 ? trial_of(masked, grad(masked, x), grad(masked, v)) : trial_of(masked);
    for (trial* test : {&one, &two, &three}) test->random("x", {301, 10}).random("w", {others});
    for (trial* test : {&one, &three}) test->random("v", {others, 10});
    four.random("x", {301, 10}).random("u", {6, 6, 10});
    for (trial* test : {&one, &two, &three, &four}) test->expect_right(1e-4);
  }
}

// Batches are loops around; longer rows have lanes of their own; a matrix product keeps its tile.
TEST(short_rows, what_else_there_is) {
  constexpr auto y = tensor<"y", float, 3>;
  constexpr auto v = tensor<"v", float, 2>;
  constexpr auto soft = define<"soft">(b, t, f) = exp(y(b, t, f) - logsumexp(o, y(b, t, o)));
  constexpr auto product = define<"product">(t, f) = sum(o, x(t, o) * v(o, f));
  constexpr auto norm = define<"norm">(t, f) = x(t, f) / sum(o, x(t, o) * x(t, o));
  trial batches = trial_of(soft), products = trial_of(product), longer = trial_of(norm);
  batches.random("y", {3, 280, 9});
  products.random("x", {300, 12}).random("v", {12, 20});
  longer.random("x", {300, 40});
  EXPECT_TRUE(is_short(batches)) << batches.plan_text();
  EXPECT_FALSE(is_short(products)) << products.plan_text();
  EXPECT_FALSE(is_short(longer)) << longer.plan_text();
  for (trial* test : {&batches, &products, &longer}) test->expect_right(1e-5);
}

}  // namespace
}  // namespace sheaf::test::short_rows_tests
