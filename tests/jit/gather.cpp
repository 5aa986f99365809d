// Rows that data names or a mask keeps: listed before they are read, beyond the end of a slice, with nothing to keep.
#include "plan_harness.hpp"

namespace sheaf::test::gather_tests {
namespace {

constexpr auto b = axis<"b">;
constexpr auto t = axis<"t">;
constexpr auto k = axis<"k">;
constexpr auto f = axis<"f">;
constexpr auto x3 = tensor<"x3", float, 3>;
constexpr auto keep = tensor<"keep", bool, 2>;
constexpr auto pick = tensor<"pick", std::int64_t, 2>;

constexpr auto given = define<"given">(b, f) = sum(t.where(keep(b, t)), x3(b, t, f));
constexpr auto most = define<"most">(b, f) = max(t.where(keep(b, t)), x3(b, t, f));

void expect_kept(trial& test) {
  test.expect_right();
  EXPECT_NE(ir::print(test.p->code).find("append"), std::string::npos) << test.plan_text();
  EXPECT_NE(test.plan_text().find("where a condition holds are listed"), std::string::npos) << test.plan_text();
}

TEST(gather, rows_under_a_mask) {
  for (const std::int64_t places : {64, 100, 1000})
    for (const std::int64_t columns : {16, 300})
      for (const std::int64_t one_in : {1, 2, 31}) {
        SCOPED_TRACE(std::to_string(places) + " places, one in " + std::to_string(one_in));
        std::vector<double> mask;
        for (std::int64_t n = 0; n < 3 * places; ++n)
          mask.push_back(n / places != 1 && n * n % 97 % one_in == 0);  // none of row 1
        trial test = trial_of(given, most);
        expect_kept(test.random("x3", {3, places, columns}).with("keep", {3, places}, mask));
      }
}
TEST(gather, rows_under_a_mask_of_names) {
  constexpr auto masked = define<"masked">(b, f) = mean(t.where(any(k, pick(b, k) == t)), x3(b, t, f));
  trial test = trial_of(masked);
  expect_kept(test.random("x3", {4, 130, 40}).below("pick", {4, 9}, 130));
}
// The row asked for ahead lies in the next iteration, or beyond the last: nothing is read there.
TEST(gather, rows_of_the_next_iteration) {
  constexpr auto pooled = define<"pooled">(b, f) = mean(k, x3(b, pick(b, k), f));
  trial test = trial_of(pooled);
  test.random("x3", {5, 900, 256}).below("pick", {5, 12}, 900).expect_right();
  EXPECT_NE(ir::print(test.p->code).find("prefetch l2 x3"), std::string::npos) << test.plan_text();
  EXPECT_NE(test.plan_text().find("prefetches x3"), std::string::npos) << test.plan_text();
}

// What is computed beside a fold of whole rows does not cut the rows.
TEST(gather, rows_are_walked_once_beside_light_work) {
  constexpr auto pooled = define<"pooled">(b, f) = mean(k, x3(b, pick(b, k), f));
  constexpr auto scaled = define<"scaled">(b, f) = x3(b, 0_c, f) * 3_c;
  trial test = trial_of(pooled, scaled);
  test.random("x3", {40, 90, 256}).below("pick", {40, 12}, 90).expect_right();
  EXPECT_NE(test.plan_text().find("f in 256 lanes"), std::string::npos) << test.plan_text();
  EXPECT_EQ(test.plan_text().find("f in 64 lanes"), std::string::npos) << test.plan_text();
}

// Data leads to one tensor instead of two, which are read once for each value.
TEST(gather, of_values_of_two_tensors) {
  constexpr auto rank = tensor<"rank", float, 1>;
  constexpr auto degree = tensor<"degree", float, 1>;
  constexpr auto share = define<"share">(t) = rank(t) / (degree(t) * degree(t) + 1_c);
  constexpr auto next = define<"next">(b) = sum(k, share(pick(b, k)));
  for (const std::int64_t links : {2, 12}) {
    trial test = trial_of(next, grad(define<"loss">() = sum(b, next(b) * next(b)), rank));
    test.random("rank", {90}).random("degree", {90}).below("pick", {40, links}, 90).expect_right();
    EXPECT_EQ(test.plan_text().find("elements of several tensors") != std::string::npos, links == 12);
  }
}

}  // namespace
}  // namespace sheaf::test::gather_tests
