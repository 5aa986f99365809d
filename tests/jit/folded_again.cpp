// Sums of rows that several reductions read: stored, where they are smaller than what they are made of.
#include "plan_harness.hpp"

namespace sheaf::test::folded_again_tests {
namespace {

constexpr auto b = axis<"b">;
constexpr auto t = axis<"t">;
constexpr auto s = axis<"s">;
constexpr auto d = axis<"d">;
constexpr auto x = tensor<"x", float, 3>;
constexpr auto w = tensor<"w", float, 1>;
constexpr auto q = tensor<"q", float, 2>;
constexpr auto k = tensor<"k", float, 2>;
constexpr auto v = tensor<"v", float, 2>;

bool is_stored(trial& test) { return test.plan_text().find("several others would fold again") != std::string::npos; }

TEST(folded_again, attention_pooling) {
  constexpr auto score = define<"score">(b, t) = sum(d, x(b, t, d) * w(d));
  constexpr auto most = define<"most">(b) = max(t, score(b, t));
  constexpr auto total = define<"total">(b) = sum(t, exp(score(b, t) - most(b)));
  constexpr auto y = define<"y">(b, d) = sum(t, exp(score(b, t) - most(b)) * x(b, t, d)) / total(b);
  trial test = trial_of(y);
  test.random("x", {5, 70, 40}).random("w", {40});
  EXPECT_TRUE(is_stored(test)) << test.plan_text();
  test.expect_right(1e-5);
}

// Short rows are folded sooner than what is stored of them is read.
TEST(folded_again, short_rows) {
  constexpr auto score = define<"score">(b, t) = sum(d, x(b, t, d) * w(d));
  constexpr auto most = define<"most">(b) = max(t, score(b, t));
  constexpr auto total = define<"total">(b) = sum(t, exp(score(b, t) - most(b)));
  trial test = trial_of(total);
  test.random("x", {5, 70, 4}).random("w", {4});
  EXPECT_FALSE(is_stored(test)) << test.plan_text();
  test.expect_right(1e-5);
}

// Values of pairs are more than what they are made of: they stay in tiles.
TEST(folded_again, pairs) {
  constexpr auto score = define<"score">(t, s) = sum(d, q(t, d) * k(s, d));
  constexpr auto most = define<"most">(t) = max(s, score(t, s));
  constexpr auto total = define<"total">(t) = sum(s, exp(score(t, s) - most(t)));
  constexpr auto y = define<"y">(t, d) = sum(s, exp(score(t, s) - most(t)) * v(s, d)) / total(t);
  trial test = trial_of(y);
  test.random("q", {100, 32}).random("k", {130, 32}).random("v", {130, 32});
  EXPECT_FALSE(is_stored(test)) << test.plan_text();
  test.expect_right(1e-5);
}

}  // namespace
}  // namespace sheaf::test::folded_again_tests
