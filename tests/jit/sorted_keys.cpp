// Keys that do not ascend are sorted: folds of those that compare with a value, of one block and of several, of equal
// keys, of NaN, of ranges, and of the rows of each one's own group.
#include <cmath>

#include "plan_harness.hpp"

namespace sheaf::test::sorted_keys_tests {
namespace {

constexpr auto f = axis<"f">;
constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto k = axis<"k">;
constexpr auto key = tensor<"key", std::int64_t, 1>;
constexpr auto at = tensor<"at", std::int64_t, 1>;
constexpr auto real = tensor<"real", float, 1>;
constexpr auto wide = tensor<"wide", double, 1>;
constexpr auto place = tensor<"place", float, 1>;
constexpr auto v = tensor<"v", float, 1>;
constexpr auto x = tensor<"x", double, 2>;
constexpr double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();

bool sorts(trial& t) { return t.plan_text().find("kernel order_sort") != std::string::npos; }

std::vector<double> drawn(std::size_t count, std::int64_t below, unsigned seed = 7) {
  std::mt19937_64 bits(seed);
  std::vector<double> list(count);
  for (double& each : list) each = static_cast<double>(bits() % static_cast<std::uint64_t>(below));
  return list;
}

void expect_same_bits_in_odd_tasks(trial& t, double tolerance = 2e-5) {
  t.expect_right(tolerance);
  const auto once = t.outputs[0].bytes;
  t.code->call.parallel_for = in_odd_tasks;
  ASSERT_EQ(t.run(), 0);
  EXPECT_TRUE(once == t.outputs[0].bytes);
}

// Of fewer than a register, of less than a block, and of blocks that one pass, or two, merge.
TEST(sorted_keys, of_any_number) {
  constexpr auto below = define<"below">(k) = count(i, key(i) < at(k));
  constexpr auto total = define<"total">(k) = sum(i.where(key(i) <= at(k)), v(i));
  constexpr auto last = define<"last">(k) = max<empty::value<-1>>(i.where(key(i) == at(k)), i);
  for (const std::size_t count : {0, 1, 2, 16, 17, 333, 8193, 17000})
    for (const std::int64_t keys : {3, 100000}) {
      SCOPED_TRACE(std::to_string(count) + " keys");
      trial t = trial_of(below, total, last);
      t.force_for_tests = true;
      const auto rows = static_cast<std::int64_t>(count);
      t.with("key", {rows}, drawn(count, keys)).with("at", {6}, drawn(6, keys, 9)).random("v", {rows});
      t.expect_right();
      EXPECT_TRUE(sorts(t)) << t.plan_text();
    }
}

TEST(sorted_keys, without_being_asked_to) {
  constexpr auto ranks = define<"ranks">(k) = count(i, real(i) < real(k));
  trial t = trial_of(ranks);
  t.random("real", {2100});
  expect_same_bits_in_odd_tasks(t);
  EXPECT_TRUE(sorts(t)) << t.plan_text();
  constexpr auto risk = define<"risk">() = sum(k, log(sum(i.where(real(i) >= real(k)), exp(v(i)))));
  trial both = trial_of(risk, grad(risk, v));
  both.force_for_tests = true;
  both.random("real", {300}).random("v", {300});
  expect_same_bits_in_odd_tasks(both);
  EXPECT_TRUE(sorts(both)) << both.plan_text();
}

TEST(sorted_keys, that_are_no_numbers) {
  constexpr auto below = define<"below">(k) = count(i, real(i) < place(k));
  constexpr auto above = define<"above">(k) = sum(i.where(real(i) >= place(k)), v(i));
  constexpr auto equal = define<"equal">(k) = min(i.where(real(i) == place(k)), v(i));
  constexpr auto group = define<"group">(k.in(0_c, extent(real, dim<0>))) = sum(i.where(real(i) == real(k)), v(i));
  for (const std::vector<double>& each :
       {std::vector<double>{nan, 2, infinity, 0, -0.0, 9, 2}, {nan, nan, nan, nan, nan, nan, nan},
        {-infinity, 5, nan, 5, 4, infinity, nan}}) {
    trial t = trial_of(below, above, equal, group);
    t.force_for_tests = true;
    t.with("real", {7}, each).with("place", {6}, {nan, 2, 0, 10, infinity, -infinity}).random("v", {7});
    t.expect_right();
    EXPECT_TRUE(sorts(t)) << t.plan_text();
  }
}

TEST(sorted_keys, of_other_types_and_rows) {
  constexpr auto above = define<"above">(k) = count(i, wide(i) > wide(k));
  constexpr auto rows = define<"rows">(k, f) = sum(i.where(key(i) == at(k)), x(i, f));
  constexpr auto odd = define<"odd">(k) = sum(i.where(key(i) <= at(k) && i % 2_c == 1_c), v(i));
  constexpr auto near = define<"near">(k) = max(i.where(at(k) - 5_c <= key(i) && key(i) <= at(k)), v(i));
  trial t = trial_of(above, rows, odd, near);
  t.force_for_tests = true;
  t.random("wide", {333}).with("key", {333}, drawn(333, 40)).with("at", {70}, drawn(70, 50, 3));
  t.random("x", {333, 3}).random("v", {333}).expect_right();
  EXPECT_TRUE(sorts(t)) << t.plan_text();
}

// What comes before each in its group: of equal keys, places ascend.
TEST(sorted_keys, ranges_of_groups) {
  constexpr auto n = extent(key, dim<0>);
  constexpr auto earlier = define<"earlier">(i.in(0_c, n)) = count(j.in(0_c, i), key(j) == key(i));
  constexpr auto running = define<"running">(i.in(0_c, n)) = sum(j.in(0_c, i + 1_c).where(key(j) == key(i)), v(j));
  constexpr auto later = define<"later">(i.in(0_c, n)) = count(j.in(i + 1_c, n), key(j) == key(i));
  for (const std::size_t count : {1, 9, 500}) {
    trial t = trial_of(earlier, running, later);
    t.force_for_tests = true;
    const auto rows = static_cast<std::int64_t>(count);
    t.with("key", {rows}, drawn(count, 30)).random("v", {rows}).expect_right();
    EXPECT_TRUE(sorts(t)) << t.plan_text();
  }
}

// Each run of equal keys is folded once, however long it is.
TEST(sorted_keys, of_ones_own_group) {
  constexpr auto means = define<"means">(k) = mean(i.where(key(i) == key(k)), v(i));
  constexpr auto share = define<"share">(k) = exp(v(k)) / sum(i.where(key(i) == key(k)), exp(v(i)));
  constexpr auto rows = define<"rows">(k, f) = max(i.where(key(i) == key(k)), x(i, f));
  constexpr auto loss = define<"loss">() = sum(k, share(k) * v(k));
  for (const bool ascend : {false, true}) {
    trial t = trial_of(means, share, rows, grad(loss, v));
    t.force_for_tests = true;
    std::vector<double> keys = drawn(700, 12);
    if (ascend) std::ranges::sort(keys);
    t.with("key", {700}, keys).random("v", {700}).random("x", {700, 2}).expect_right();
    EXPECT_TRUE(t.plan_text().find("what each run of equal keys comes to") != std::string::npos) << t.plan_text();
  }
}

}  // namespace
}  // namespace sheaf::test::sorted_keys_tests
