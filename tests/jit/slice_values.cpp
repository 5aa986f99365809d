// Gradients of named scores of slices: 0 but in a slice of their row, they are not stored, and what sums them walks the
// slices.
#include "plan_harness.hpp"

namespace sheaf::test::slice_values_tests {
namespace {

constexpr auto n = axis<"n">;
constexpr auto e = axis<"e">;
constexpr auto f = axis<"f">;
constexpr auto off = tensor<"off", std::int64_t, 1>;
constexpr auto src = tensor<"src", std::int64_t, 1>;
constexpr auto a = tensor<"a", float, 1>;
constexpr auto b = tensor<"b", float, 1>;
constexpr auto h = tensor<"h", float, 2>;
constexpr auto w = tensor<"w", float, 2>;
constexpr auto rows = n.in(0_c, extent(off, dim<0>) - 1_c);
constexpr auto slice = e.in(off(n), off(n + 1_c));

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

trial& of_slices(trial& t) {
  return t.with("off", {8}, {0, 3, 3, 40, 41, 75, 90, 90}).random("a", {7});
}

// There are more nodes than slices: what guards the sums guards the ends of the slices.
TEST(slice_values, maxima) {
  constexpr auto score = define<"score">(rows, e) = a(n) + b(e);
  constexpr auto most = define<"most">(rows) = max(slice, score(n, e));
  constexpr auto loss = define<"loss">() = sum(rows, most(n) * cast<float>(n + 1_c));
  trial t = trial_of(grad(loss, a), grad(loss, b));
  t.with("off", {8}, {0, 3, 3, 40, 41, 75, 90, 90}).random("a", {9}).random("b", {90});
  EXPECT_FALSE(has(t.plan_text(), "d_score(")) << t.plan_text();
  EXPECT_TRUE(has(t.plan_text(), "range scatter")) << t.plan_text();
  t.expect_right();
}

TEST(slice_values, attention_over_edges) {
  constexpr auto score = define<"score">(rows, e) = maximum(a(n) + b(src(e)), 0.2_c * (a(n) + b(src(e))));
  constexpr auto most = define<"most">(rows) = max(slice, score(n, e));
  constexpr auto total = define<"total">(rows) = sum(slice, exp(score(n, e) - most(n)));
  constexpr auto y = define<"y">(rows, f) = sum(slice, exp(score(n, e) - most(n)) / total(n) * h(src(e), f));
  constexpr auto loss = define<"loss">() = sum(over(rows, f), y(n, f) * w(n, f));
  trial t = trial_of(y, grad(loss, h), grad(loss, a), grad(loss, b));
  of_slices(t).random("b", {11}).random("h", {11, 5}).random("w", {7, 5}).below("src", {90}, 11);
  EXPECT_FALSE(has(t.plan_text(), "(n, e) -> workspace")) << t.plan_text();
  t.expect_right(1e-5);
}

// What is folded from each element of a slice to its end, or up to it: the gradient walks the slices of an element, not
// all of them, and so does no check.
TEST(slice_values, parts_of_slices) {
  constexpr auto i = axis<"i">;
  constexpr auto each = i.in(off(n), off(n + 1_c));
  constexpr auto ends = define<"ends">() = sum(rows, sum(each, logsumexp(e.in(i, off(n + 1_c)), b(e)) - b(i)));
  constexpr auto begins = define<"begins">() = sum(rows, sum(each, tanh(sum(e.in(off(n), i + 1_c), b(e))) * a(i)));
  const auto expect_slices = [](trial& t) {
    EXPECT_TRUE(has(t.plan_text(), "range scatter")) << t.plan_text();
    EXPECT_FALSE(has(t.plan_text(), "of b over (e")) << t.plan_text();
    EXPECT_FALSE(has(t.plan_text(), "of b over (i")) << t.plan_text();
    t.expect_right(1e-5);
  };
  const auto off_and_b = [](trial& t) -> trial& {
    return t.with("off", {8}, {0, 3, 3, 40, 41, 75, 90, 90}).random("b", {90});
  };
  trial of_ends = trial_of(grad(ends, b)), of_begins = trial_of(grad(begins, b));
  expect_slices(off_and_b(of_ends));
  expect_slices(off_and_b(of_begins).random("a", {90}));
}

// A sum of values that are not needed outside of a slice, one of which is not 0 there.
TEST(slice_values, not_of_slices) {
  constexpr auto part = define<"part">(rows, e) =
      select(off(n) <= e && e < off(n + 1_c), b(e) * sum(f, w(n, f)), 0_c);
  constexpr auto y = define<"y">(rows) = sum(e, part(n, e) + b(e));
  constexpr auto z = define<"z">(e) = sum(rows, part(n, e) * a(n));
  trial t = trial_of(y, z);
  of_slices(t).random("b", {90}).random("w", {7, 5});
  t.expect_right(1e-5);
}

// Scores that are products of a row and an element of its slice: of all pairs those of slices alone are computed.
TEST(slice_values, scores_that_are_products) {
  constexpr auto k = axis<"k">;
  constexpr auto score = define<"score">(rows, e) = tanh(sum(k, h(e, k) * w(n, k)));
  constexpr auto y = define<"y">(rows, f) = sum(slice, score(n, e) * h(e, f));
  constexpr auto loss = define<"loss">() = sum(over(rows, f), y(n, f) * y(n, f));
  trial t = trial_of(y, grad(loss, h), grad(loss, w));
  t.with("off", {8}, {0, 3, 3, 40, 41, 75, 90, 90}).random("h", {90, 5}).random("w", {7, 5});
  EXPECT_FALSE(has(t.plan_text(), "(n, e) -> workspace")) << t.plan_text();
  EXPECT_FALSE(has(t.plan_text(), "(e, n) -> workspace")) << t.plan_text();
  t.expect_right(1e-5);
}

// Many places of slices by offsets: each row is in the slice of one place, so that no tile asks rows and places.
TEST(slice_values, rows_of_many_slices) {
  constexpr auto k = axis<"k">;
  constexpr auto score = tanh(sum(k, h(e, k) * w(n, k)));
  constexpr auto y = define<"y">(e.in(0_c, extent(h, dim<0>)), f) =
      sum(rows.where(off(n) <= e && e < off(n + 1_c)), score * w(n, f));
  trial t = trial_of(y);
  std::vector<double> ends;
  for (int b = 0; b <= 300; ++b) ends.push_back(b * 3 + b % 3);
  t.with("off", {301}, ends).random("h", {905, 16}).random("w", {300, 16});
  EXPECT_TRUE(has(t.plan_text(), "range scatter")) << t.plan_text();
  t.expect_right(1e-5);
}

}  // namespace
}  // namespace sheaf::test::slice_values_tests
