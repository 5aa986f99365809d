// What explain() says of rounding follows from the order of additions: lanes, blocks, accumulators.
#include <sheaf/jit/plan/error_bound.hpp>
#include <sheaf/jit/plan/most_trips.hpp>

#include "plan_harness.hpp"

namespace sheaf::test::error_bound_tests {
namespace {

constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto k = axis<"k">;
constexpr auto x = tensor<"x", float, 1>;
constexpr auto a = tensor<"a", float, 2>;
constexpr auto b = tensor<"b", float, 2>;
constexpr auto h = tensor<"h", bfloat16, 1>;
constexpr auto n = tensor<"n", std::int32_t, 1>;
constexpr auto off = tensor<"off", std::int64_t, 1>;

// In ulp of f32.
double units(trial& t) {
  const plan::call_facts call = t.seen();
  planned p = plan_program(t.g, call, "trial");
  const plan::facts known(p.g, call);
  return plan::error_bound_of(p.g, known, p.plan, p.g.outputs[0]).relative * 0x1p23;
}

TEST(error_bound, of_what_rounds_once) {
  constexpr auto y = define<"y">(i) = x(i) * 2.5_c;
  EXPECT_EQ(units(trial_of(y).random("x", {100})), 0.5);
  constexpr auto most = define<"most">() = max(i, x(i));
  EXPECT_EQ(units(trial_of(most).random("x", {100})), 0);
  constexpr auto whole = define<"whole">() = sum(i, n(i));
  EXPECT_EQ(units(trial_of(whole).below("n", {100}, 9)), 0);
}

TEST(error_bound, of_a_sum_grows_with_the_chain_of_a_lane) {
  constexpr auto s = define<"s">() = sum(i, x(i));
  const double few = units(trial_of(s).random("x", {4096})), many = units(trial_of(s).random("x", {1 << 22}));
  EXPECT_GT(few, 20);   // 64 lanes of 64 numbers
  EXPECT_LT(few, 64);
  EXPECT_LT(many, 4 * few + 400);  // blocks, which are joined in f64
}

TEST(error_bound, of_results_in_lanes_grows_with_the_index) {
  constexpr auto c = define<"c">(i, j) = sum(k, a(i, k) * b(k, j));
  const double found = units(trial_of(c).random("a", {64, 300}).random("b", {300, 64}));
  EXPECT_GE(found, 149);
  EXPECT_LE(found, 151);
}

TEST(error_bound, of_halves_is_their_store) {
  constexpr auto s = define<"s">() = sum(i, h(i));
  EXPECT_LT(units(trial_of(s).random("h", {64})), 0x1p15 + 40);
  EXPECT_GE(units(trial_of(s).random("h", {64})), 0x1p15);
}

TEST(error_bound, of_slices_holds_for_the_longest) {
  constexpr auto s = define<"s">(i) = sum(j.in(off(i), off(i + 1_c)), x(j));
  auto t = trial_of(s);
  t.random("x", {640}).with("off", {5}, {0, 1, 2, 3, 640});
  EXPECT_GT(units(t), 0.5);  // the additions are those of f64, of at most 640 terms
  EXPECT_LT(units(t), 0.500001);
}

TEST(error_bound, is_a_line_of_the_plan) {
  constexpr auto s = define<"s">() = sum(i, exp(x(i)));
  auto t = trial_of(s);
  t.random("x", {100});
  plan::call_facts call = t.seen();
  call.explains = true;
  const std::string text = plan_program(t.g, call, "trial").text;
  EXPECT_NE(text.find("rounding of s: at most "), std::string::npos) << text;
  EXPECT_NE(text.find("by a reduction over i of at most 100 terms"), std::string::npos) << text;
  constexpr auto steps = define<"steps">(i) = floor(exp(x(i)));
  auto u = trial_of(steps);
  u.random("x", {100});
  call = u.seen();
  call.explains = true;
  EXPECT_NE(plan_program(u.g, call, "trial").text.find("if comparisons of rounded numbers"), std::string::npos);
}

}  // namespace
}  // namespace sheaf::test::error_bound_tests
