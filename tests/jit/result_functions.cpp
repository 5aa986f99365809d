// Functions of what ragged and masked rows are folded to, and of updates, run in lanes: the plan says so, values and
// gradients are those of the evaluator, and the bits do not depend on tasks.
#include "plan_harness.hpp"

namespace sheaf::test::result_functions_tests {
namespace {

constexpr auto t = axis<"t">;
constexpr auto f = axis<"f">;
constexpr auto r = axis<"r">;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto v = tensor<"v", float, 1>;
constexpr auto at = tensor<"at", std::int64_t, 1>;
constexpr auto keep = tensor<"keep", bool, 2>;
constexpr auto off = tensor<"off", std::int64_t, 1>;
constexpr auto rows = extent(off, dim<0>) - 1_c;

bool in_lanes(trial& test) { return test.plan_text().find("functions of results run in lanes") != std::string::npos; }

// Offsets of so many slices below `end`, some of them empty.
std::vector<double> offsets(int slices, int end) {
  std::vector<double> list;
  for (int k = 0; k <= slices; ++k) list.push_back(static_cast<double>((k - k % 3) * end / slices));
  list.back() = end;
  return list;
}

TEST(result_functions, of_columns_by_offsets) {
  constexpr auto bank = define<"bank">(t, r.in(0_c, rows)) =
      log(1_c + sum(f.in(off(r), off(r + 1_c)), x(t, f) * x(t, f)));
  for (const std::int64_t height : {120, 131}) {
    trial test = trial_of(bank);
    test.random("x", {height, 97}).with("off", {13}, offsets(12, 97));
    EXPECT_TRUE(in_lanes(test)) << test.plan_text();
    test.expect_right(1e-5);
  }
}

TEST(result_functions, of_slices_and_their_gradients) {
  constexpr auto fold = sum(t.in(off(r), off(r + 1_c)), v(t) * v(at(t)));
  constexpr auto squashed = define<"squashed">(r.in(0_c, rows)) = tanh(fold) * exp(-fold);
  constexpr auto loss = define<"loss">() = sum(r.in(0_c, rows), squashed(r) * squashed(r));
  trial value = trial_of(squashed), scalar = trial_of(loss), both = trial_of(loss, grad(loss, v));
  for (trial* test : {&value, &scalar, &both}) {
    test->random("v", {2600}).below("at", {2600}, 2600).with("off", {1201}, offsets(1200, 2600));
    EXPECT_TRUE(in_lanes(*test)) << test->plan_text();
    test->expect_right(1e-5);
    const auto once = test->outputs.back().bytes;
    test->code->call.parallel_for = in_odd_tasks;
    ASSERT_EQ(test->run(), 0);
    EXPECT_TRUE(once == test->outputs.back().bytes);
  }
}

// The element that data names of a row stands beside what the row is folded to.
TEST(result_functions, beside_elements_of_their_rows) {
  constexpr auto label = tensor<"label", std::int64_t, 1>;
  constexpr auto losses = define<"losses">(t) = logsumexp(f, x(t, f)) - x(t, label(t));
  constexpr auto loss = define<"loss">() = mean(t, losses(t));
  trial test = trial_of(loss);
  test.random("x", {24681, 40}).below("label", {24681}, 40);
  EXPECT_NE(test.plan_text().find("of a row that is folded: read while it is near"), std::string::npos)
      << test.plan_text();
  test.expect_right(1e-5);
}

// What a loss and its gradient need of slices is folded once.
TEST(result_functions, of_slices_for_a_loss_and_its_gradient) {
  constexpr auto fold = define<"fold">(r.in(0_c, rows)) = sum(t.in(off(r), off(r + 1_c)), v(t) * v(at(t)));
  constexpr auto loss = define<"loss">() = sum(r.in(0_c, rows), fold(r) * fold(r));
  trial test = trial_of(loss, grad(loss, v));
  test.random("v", {2600}).below("at", {2600}, 2600).with("off", {1201}, offsets(1200, 2600));
  EXPECT_NE(test.plan_text().find("a reduction read for itself"), std::string::npos) << test.plan_text();
  test.expect_right(1e-5);
}

TEST(result_functions, of_masked_rows) {
  constexpr auto kept = define<"kept">(t) = log1p(sum(f.where(keep(t, f)), x(t, f) * x(t, f)));
  trial test = trial_of(kept);
  test.random("x", {1300, 70}).below("keep", {1300, 70}, 2);
  EXPECT_TRUE(in_lanes(test)) << test.plan_text();
  test.expect_right(1e-5);
}

// Values and keys of updates.
TEST(result_functions, of_updates) {
  constexpr auto key = tensor<"key", std::int64_t, 1>;
  constexpr auto total = define<"total">(r.in(0_c, 30_c)) = sum(t.where(key(t) == r), exp(v(t)));
  constexpr auto entropy = define<"entropy">(r.in(0_c, 30_c)) =
      sum(t.where(key(t) == r), log(exp(v(t)) / total(key(t))) * v(t));
  constexpr auto decades = define<"decades">(r.in(0_c, 9_c)) =
      sum(t.where(cast<std::int64_t>(floor(log(2_c + v(t)) * 4_c)) == r), v(t));
  trial one = trial_of(entropy), two = trial_of(decades);
  for (trial* test : {&one, &two}) test->random("v", {5000});
  one.below("key", {5000}, 33);  // some go nowhere
  for (trial* test : {&one, &two}) {
    EXPECT_TRUE(in_lanes(*test)) << test->plan_text();
    test->expect_right(1e-5);
  }
}

// A loss of what whole rows are folded to, with its gradient: the functions run in lanes, and a block of rows that was
// folded is still in a cache when the gradient walks it.
TEST(result_functions, of_rows_that_a_loss_walks) {
  constexpr auto w = tensor<"w", float, 1>;
  constexpr auto z = define<"z">(t) = sum(f, x(t, f) * w(f));
  constexpr auto loss = define<"loss">() = mean(t, log1p(exp(-z(t))) + v(t) * z(t));
  for (const std::int64_t columns : {80, 300, 500}) {
    trial test = trial_of(loss, grad(loss, w));
    test.random("x", {3000, columns}).random("w", {columns}).random("v", {3000});
    EXPECT_TRUE(in_lanes(test)) << test.plan_text();
    const std::string plan = test.plan_text(), first = plan.substr(0, plan.find("kernel", 10));
    EXPECT_NE(first.find("stage folded"), std::string::npos) << plan;
    EXPECT_NE(first.find("stage partial(t_block, f)"), std::string::npos) << plan;
    test.expect_right(2e-5);
    const auto once = test.outputs.back().bytes;
    test.code->call.parallel_for = in_odd_tasks;
    ASSERT_EQ(test.run(), 0);
    EXPECT_TRUE(once == test.outputs.back().bytes);
  }
}

// Where a map walks the same rows, they are folded beside it: each row is read once.
TEST(result_functions, of_rows_that_a_map_walks_too) {
  constexpr auto loss = define<"loss">() = sum(t, log(1_c + sum(f, x(t, f) * x(t, f))));
  trial test = trial_of(loss, grad(loss, x));
  test.random("x", {3000, 80});
  const std::string plan = test.plan_text(), first = plan.substr(0, plan.find("kernel", 10));
  EXPECT_NE(first.find("stage dloss_dx"), std::string::npos) << plan;
  test.expect_right(1e-5);
}

// Where the rows are lanes anyway, long, few or whole, nothing is stored.
TEST(result_functions, are_computed_in_place_elsewhere) {
  constexpr auto columns = define<"columns">(r.in(0_c, rows), f) = exp(sum(t.in(off(r), off(r + 1_c)), x(t, f)));
  constexpr auto whole = define<"whole">(t) = exp(sum(f, x(t, f)));
  constexpr auto slices = define<"slices">(r.in(0_c, rows)) = exp(sum(t.in(off(r), off(r + 1_c)), v(t)));
  trial one = trial_of(columns), two = trial_of(whole), few = trial_of(slices), lengthy = trial_of(slices);
  one.random("x", {4000, 32}).with("off", {1501}, offsets(1500, 4000));
  two.random("x", {3000, 100});
  few.random("v", {4000}).with("off", {101}, offsets(100, 4000));
  lengthy.random("v", {800000}).with("off", {1101}, offsets(1100, 800000));
  for (trial* test : {&one, &two, &few, &lengthy}) EXPECT_FALSE(in_lanes(*test)) << test->plan_text();
}

// The greatest of a row, which the sum of its exponentials takes, too, is folded once.
TEST(result_functions, of_folds_that_share_a_fold) {
  constexpr auto loss = define<"loss">() = mean(t, logsumexp(f, x(t, f)) - x(t, at(t)));
  trial test = trial_of(loss);
  test.random("x", {1100, 197}).below("at", {1100}, 197);
  EXPECT_TRUE(in_lanes(test)) << test.plan_text();
  test.expect_right(1e-5);
  const std::string code = ir::print(test.p->code);
  const auto first = code.find("accumulator max");
  ASSERT_NE(first, std::string::npos) << code;
  EXPECT_EQ(code.find("accumulator max", first + 1), std::string::npos) << code;
}

}  // namespace
}  // namespace sheaf::test::result_functions_tests
