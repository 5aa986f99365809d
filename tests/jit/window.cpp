// Windows in one pass: every width, kind and type, cut at the ends or not, with an expression around them, in batches;
// the same bits for any tasks; no drift.
#include "plan_harness.hpp"

namespace sheaf::test::window_tests {
namespace {

constexpr auto i = axis<"i">;
constexpr auto t = axis<"t">;
constexpr auto u = axis<"u">;
constexpr auto x = tensor<"x", float, 1>;
constexpr auto y = tensor<"y", float, 1>;
constexpr auto m = tensor<"m", float, 2>;
constexpr auto b = tensor<"b", float, 2>;
constexpr auto z = tensor<"z", double, 1>;
constexpr auto n = tensor<"n", std::int32_t, 1>;

void expect_window(trial& test, std::int64_t width) {
  EXPECT_NE(test.plan_text().find("window of " + std::to_string(width) + ":"), std::string::npos) << test.plan_text();
}

template <std::int64_t Width>
void one_width() {
  constexpr auto w = constant<Width>;
  constexpr auto total = define<"total">(t) = y(t) + sum(u.in(0_c, w), x(t + u));
  constexpr auto highest = define<"highest">(t) = y(t) * max(u.in(0_c, w), x(t + u));
  constexpr auto lowest = define<"lowest">(t) = min(u.in(0_c, w), x(t + u)) - y(t);
  constexpr auto product = define<"product">(t) = y(t) * prod(u.in(0_c, w), 1_c + x(t + u) * 0.01_c);
  for (const std::int64_t results : {64, 65, 700}) {
    trial test = trial_of(total, highest, lowest, product);
    test.random("x", {results + Width - 1}).random("y", {results}).expect_right();
    expect_window(test, Width);
  }
}
TEST(window_pass, every_width) {
  one_width<2>();
  one_width<3>();
  one_width<4>();
  one_width<5>();
  one_width<7>();
  one_width<15>();
  one_width<16>();
  one_width<17>();
  one_width<31>();
  one_width<32>();
  one_width<63>();
  one_width<64>();
  one_width<100>();
  one_width<128>();
  one_width<129>();
  one_width<143>();
  one_width<144>();
  one_width<145>();
  one_width<300>();
  one_width<1000>();
}

// The gradient of a window is one that is cut at both ends; so is one with padding.
template <std::int64_t Width>
void cut_at_the_ends() {
  constexpr auto w = constant<Width>;
  constexpr auto mean_of = define<"mean_of">(t) = y(t) * 0_c + mean(u.in(0_c, w), x(t + u));
  constexpr auto loss = define<"loss">() = sum(t, mean_of(t) * y(t));
  for (const std::int64_t results : {1, 64, 100, 700}) {
    trial test = trial_of(mean_of, grad(loss, x));
    test.random("x", {results + Width - 1}).random("y", {results}).expect_right();
    if (results >= 64) expect_window(test, Width);
  }
  constexpr auto padded = define<"padded">(t) = y(t) + sum(u.in(0_c, w), x.padded(0_c)(t + u - constant<Width / 2>));
  constexpr auto skipped = define<"skipped">(t) = y(t) + max(u.in(0_c, w), x.skipping(t + u - constant<Width / 2>));
  for (const std::int64_t results : {64, 100, 700})
    for (const std::int64_t size : {std::int64_t{1}, results / 2, results + 3})
      trial_of(padded, skipped).random("x", {size}).random("y", {results}).expect_right();
}
TEST(window_pass, cut_at_the_ends) {
  cut_at_the_ends<5>();
  cut_at_the_ends<16>();
  cut_at_the_ends<33>();
  cut_at_the_ends<100>();
  cut_at_the_ends<129>();
  cut_at_the_ends<200>();
  cut_at_the_ends<600>();
}

TEST(window_pass, types_and_batches) {
  constexpr auto doubles = define<"doubles">(t) = y(t) + sum(u.in(0_c, 150_c), z(t + u));
  constexpr auto whole = define<"whole">(t) = sum(u.in(0_c, 150_c), n(t + u)) + cast<std::int64_t>(y(t));
  constexpr auto top = define<"top">(t) = max(u.in(0_c, 40_c), n(t + u)) + cast<std::int32_t>(y(t));
  constexpr auto rows = define<"rows">(i, t) = b(i, t) + mean(u.in(0_c, 150_c), m(i, t + u));
  constexpr auto few = define<"few">(i, t) = b(i, t) + max(u.in(0_c, 9_c), m(i, t + u));
  for (const std::int64_t results : {64, 333}) {
    trial_of(doubles).random("y", {results}).random("z", {results + 149}).expect_right(1e-6);
    trial_of(whole, top).random("y", {results}).below("n", {results + 149}, 1000).expect_right();
    for (const std::int64_t count : {1, 3, 40})
      for (const bool turned : {false, true}) {
        trial_of(rows).random("b", {count, results}).random("m", {count, results + 149}, turned).expect_right();
        trial_of(few).random("b", {count, results}).random("m", {count, results + 8}, turned).expect_right();
      }
  }
}

// Blocks fold their rest while nothing comes from memory; where the data does, each vector asks for what comes later.
TEST(window_pass, asks_ahead_of_memory) {
  constexpr auto rows = define<"rows">(i, t) = b(i, t) * 0_c + mean(u.in(0_c, 150_c), m(i, t + u));
  trial test = trial_of(rows);
  test.on.last_cache = 8 * 4 * 20 * 449;
  test.random("b", {20, 300}).random("m", {20, 449}).make();
  EXPECT_NE(ir::print(test.p->code).find("prefetch m["), std::string::npos) << ir::print(test.p->code);
  test.expect_right();
  trial cached = trial_of(rows);
  cached.random("b", {20, 300}).random("m", {20, 449}).make();
  EXPECT_EQ(ir::print(cached.p->code).find("prefetch m["), std::string::npos);
}

TEST(window_pass, nothing_outlives_its_window) {
  constexpr auto total = define<"total">(t) = y(t) * 0_c + sum(u.in(0_c, 200_c), x(t + u));
  constexpr auto highest = define<"highest">(t) = y(t) * 0_c + max(u.in(0_c, 200_c), x(t + u));
  const std::int64_t results = 1000;
  std::vector<double> values(static_cast<std::size_t>(results + 199), 1);
  values[300] = std::numeric_limits<double>::infinity();
  values[301] = -std::numeric_limits<double>::infinity();
  values[700] = std::numeric_limits<double>::quiet_NaN();
  trial test = trial_of(total, highest);
  test.with("x", {results + 199}, values).random("y", {results});
  ASSERT_EQ(test.run(), 0);
  for (std::int64_t k = 0; k < results; ++k)
    for (int o = 0; o < 2; ++o) {
      const float found = test.outputs[static_cast<std::size_t>(o)].get<float>(k);
      const auto holds = [&](std::int64_t place) { return k <= place && place < k + 200; };
      if (holds(700) || (o == 0 && holds(300) && holds(301)))
        EXPECT_TRUE(std::isnan(found)) << k;
      else if (holds(300))
        EXPECT_EQ(found, std::numeric_limits<float>::infinity()) << k;
      else if (o == 0 && holds(301))
        EXPECT_EQ(found, -std::numeric_limits<float>::infinity()) << k;
      else
        EXPECT_EQ(found, o == 0 ? 200 : 1) << k;
    }
}

// A million steps; the same bits for tasks of any size, in any order.
template <std::int64_t Width>
void long_window() {
  constexpr auto w = constant<Width>;
  constexpr auto total = define<"total">(t) = sum(u.in(0_c, w), x(t + u)) * (y(t) == y(t));
  const std::int64_t results = 1000000;
  trial test = trial_of(total);
  std::vector<double> values(static_cast<std::size_t>(results + Width - 1));
  std::mt19937_64 bits(5);
  for (double& value : values) value = static_cast<double>(std::uniform_real_distribution<float>(0, 1)(bits));
  values[3] = 1e30;  // no later window knows of it
  test.with("x", {results + Width - 1}, values).random("y", {results});
  ASSERT_EQ(test.run(), 0);
  expect_window(test, Width);
  std::vector<double> before(values.size() + 1);
  for (std::size_t k = 4; k < values.size(); ++k) before[k + 1] = before[k] + values[k];
  double worst = 0;
  for (std::int64_t k = 4; k < results; ++k) {
    const double sum = before[static_cast<std::size_t>(k + Width)] - before[static_cast<std::size_t>(k)];
    worst = std::max(worst, std::abs(test.outputs[0].get<float>(k) - sum) / sum);
  }
  EXPECT_LT(worst, 1e-6);
  const std::vector<unsigned char> first = test.outputs[0].bytes;
  test.code->call.parallel_for = in_odd_tasks;
  ASSERT_EQ(test.run(), 0);
  EXPECT_TRUE(first == test.outputs[0].bytes);
}
TEST(window_pass, does_not_drift) {
  long_window<10>();
  long_window<100>();
  long_window<1000>();
  long_window<65536>();
  long_window<100000>();
}

}  // namespace
}  // namespace sheaf::test::window_tests
