// Products with short rows of results: panels that are packed, rows in lanes, blocks of rows with register tiles.
// Values against the evaluator, for sizes that fill no register, types and batches; the same bits for any tasks.
#include "plan_harness.hpp"

namespace sheaf::test::short_products_tests {
namespace {

constexpr auto t = axis<"t">;
constexpr auto q = axis<"q">;
constexpr auto j = axis<"j">;
constexpr auto b = axis<"b">;
constexpr auto p = axis<"p">;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto w = tensor<"w", float, 2>;

bool says(trial& test, const char* words) { return test.plan_text().find(words) != std::string::npos; }

void expect_right_in_any_tasks(trial& test) {
  test.expect_right();
  const auto once = test.outputs.back().bytes;
  test.code->call.parallel_for = in_odd_tasks;
  ASSERT_EQ(test.run(), 0);
  EXPECT_EQ(test.outputs.back().bytes, once);
}

TEST(short_products, up_to_three_results_have_rows_in_lanes) {
  constexpr auto y = define<"y">(t, q) = sum(j, x(t, j) * w(q, j));
  constexpr auto z = define<"z">(t, q) = sum(j, x(t, j) * w(j, q));
  for (const std::int64_t results : {2, 3})
    for (const std::int64_t terms : {2, 3, 16, 31}) {
      SCOPED_TRACE(testing::Message() << results << " results of " << terms << " terms");
      trial rows = trial_of(y), columns = trial_of(z);
      rows.random("x", {1021, terms}).random("w", {results, terms});
      columns.random("x", {1021, terms}).random("w", {terms, results});
      for (trial* test : {&rows, &columns}) {
        EXPECT_TRUE(says(*test, "along short rows")) << test->plan_text();
        expect_right_in_any_tasks(*test);
      }
    }
}

TEST(short_products, more_results_are_packed) {
  constexpr auto y = define<"y">(t, q) = sum(j, x(t, j) * w(q, j));
  constexpr auto d = define<"d">(t, q) = sum(j, (x(t, j) - w(q, j)) * (x(t, j) - w(q, j)));
  for (const std::int64_t results : {4, 5, 7, 12, 16, 17}) {
    SCOPED_TRACE(testing::Message() << results << " results");
    trial products = trial_of(y), distances = trial_of(d);
    for (trial* test : {&products, &distances}) {
      test->random("x", {4099, 13}).random("w", {results, 13});
      EXPECT_TRUE(says(*test, "1 packed")) << test->plan_text();
      expect_right_in_any_tasks(*test);
    }
  }
  // Of few results a long walk has lanes.
  trial narrow = trial_of(y);
  EXPECT_FALSE(says(narrow.random("x", {4099, 300}).random("w", {6, 300}), "packed")) << narrow.plan_text();
  expect_right_in_any_tasks(narrow);
}

TEST(short_products, of_batches_and_halves) {
  constexpr auto m = tensor<"m", float16, 3>;
  constexpr auto n = tensor<"n", float16, 3>;
  constexpr auto y = define<"y">(b, p, q) = sum(j, m(b, p, j) * n(b, q, j));
  trial test = trial_of(y);
  test.random("m", {33, 18, 16}).random("n", {33, 9, 16});
  EXPECT_TRUE(says(test, "1 packed")) << test.plan_text();
  test.expect_right(2e-3);
}

TEST(short_products, over_many_rows_are_split_in_blocks) {
  constexpr auto y = define<"y">(p, q) = sum(t, x(t, p) * w(t, q));
  for (const std::int64_t results : {4, 9, 16, 32}) {
    SCOPED_TRACE(testing::Message() << results << " by " << results - 1);
    trial test = trial_of(y);
    test.random("x", {12000, results}).random("w", {12000, results - 1});
    EXPECT_TRUE(says(test, "parallel over t_block, register tile")) << test.plan_text();
    expect_right_in_any_tasks(test);
  }
}

}  // namespace
}  // namespace sheaf::test::short_products_tests
