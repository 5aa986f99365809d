// Cache tiles of products in batches: of any number of indices, wherever they stand in memory. Values against the
// evaluator, the same bits elsewhere, and what the plan says.
#include "plan_harness.hpp"

namespace sheaf::test::batched_products_tests {
namespace {

constexpr auto n = axis<"n">;
constexpr auto h = axis<"h">;
constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto k = axis<"k">;
constexpr auto a = tensor<"a", float, 3>;
constexpr auto b = tensor<"b", float, 3>;
constexpr auto r = tensor<"r", float, 3>;
constexpr auto x = tensor<"x", float, 4>;
constexpr auto y = tensor<"y", float, 4>;
constexpr auto w = tensor<"w", float, 2>;

bool says(trial& t, const char* words) { return t.plan_text().find(words) != std::string::npos; }

// Blocks of terms, panels of lanes, tasks of rows; parts of each are left over. A fold of nothing is stored, too.
TEST(batched_products, matrices) {
  constexpr auto c = define<"c">(n, i, j) = sum(k, a(n, i, k) * b(n, k, j)) + 1_c;
  for (const std::int64_t terms : {0, 300, 513}) {
    trial t = trial_of(c);
    t.random("a", {3, 200, terms}).random("b", {3, terms, 70});
    EXPECT_EQ(says(t, "cache tile 192 i x 256 k, 1 packed, of each n"), terms > 0) << t.plan_text();
    t.expect_right(1e-5);
  }
}

// Some of each index.
TEST(batched_products, parts_of_ranges) {
  constexpr auto c = define<"c">(n.in(0_c, 3_c), i.in(0_c, 197_c), j) =
      sum(k.in(5_c, 290_c), a(n + 1_c, i + 2_c, k) * exp(b(n, k, j)));
  trial t = trial_of(c);
  t.random("a", {4, 200, 300}).random("b", {3, 300, 70});
  EXPECT_TRUE(says(t, "of each n")) << t.plan_text();
  t.expect_right(1e-5);
}

// Batches and heads, which stand between rows and columns in memory: columns are packed though they are far apart.
TEST(batched_products, heads) {
  constexpr auto scores = define<"scores">(n, h, i, j) = sum(k, x(n, i, h, k) * y(n, j, h, k));
  constexpr auto all = define<"all">(n, i, h, k) = sum(j, scores(n, h, i, j) * y(n, j, h, k));
  trial t = trial_of(scores, all);
  t.random("x", {2, 100, 3, 64}).random("y", {2, 130, 3, 64});
  EXPECT_TRUE(says(t, "cache tile 192 i x 256 k, 1 packed, of each n and h")) << t.plan_text();
  EXPECT_TRUE(says(t, "cache tile 192 i x 256 j, 1 packed, of each n and h")) << t.plan_text();
  t.expect_right(1e-5);
}

// What no batch differs in: rows are those of the index of which there are most, be it the first.
TEST(batched_products, one_matrix_for_all) {
  constexpr auto c = define<"c">(n, i, j) = sum(k, a(n, i, k) * w(k, j));
  trial first = trial_of(c), second = trial_of(c);
  first.random("a", {100, 7, 200}).random("w", {200, 70});
  second.random("a", {7, 100, 200}).random("w", {200, 70});
  EXPECT_TRUE(says(first, "cache tile 96 n x 256 k, 1 packed, for all i")) << first.plan_text();
  EXPECT_TRUE(says(second, "cache tile 96 i x 256 k, 1 packed, for all n")) << second.plan_text();
  first.expect_right(1e-5);
  second.expect_right(1e-5);
}

// A column's own matrix, a middle one of three factors: any of them may be packed.
TEST(batched_products, three_factors) {
  constexpr auto u = tensor<"u", float, 2>;
  constexpr auto v = tensor<"v", float, 2>;
  constexpr auto c = define<"c">(n, i, j) = sum(k, u(n, k) * v(i, k) * w(j, k));
  trial t = trial_of(c);
  t.random("u", {9, 40}).random("v", {70, 40}).random("w", {66, 40});
  EXPECT_TRUE(says(t, "cache tile")) << t.plan_text();
  t.expect_right(1e-5);
}

// The gradients of a layer of each head: masked products and both transpositions.
TEST(batched_products, gradients) {
  constexpr auto c = define<"c">(n, i, j) = relu(sum(k, a(n, i, k) * b(n, k, j)));
  constexpr auto loss = define<"loss">() = sum(over(n, i, j), c(n, i, j) * r(n, i, j));
  trial t = trial_of(c, grad(loss, a), grad(loss, b));
  t.random("a", {2, 40, 40}).random("b", {2, 40, 210}).random("r", {2, 40, 210});
  EXPECT_TRUE(says(t, "masked_product")) << t.plan_text();
  EXPECT_TRUE(says(t, "of each n")) << t.plan_text();
  t.expect_right(1e-4);
}

// Sums over several indices: what one of them comes to, in blocks, goes on with the next one. Both transpositions.
TEST(batched_products, sums_over_batches) {
  constexpr auto dw = define<"dw">(k, j) = sum(over(n, i), a(n, i, k) * b(n, i, j));
  constexpr auto form = define<"form">(i, j) = sum(over(n, k), a(i, n, k) * b(j, n, k) * w(i, k));
  for (const std::int64_t batches : {5, 1, 0})
    for (const std::int64_t terms : {40, 300}) {
      trial t = trial_of(dw);
      t.random("a", {batches, terms, 100}).random("b", {batches, terms, 70});
      EXPECT_EQ(says(t, "cache tile 192 k x 256 i, 1 packed"), batches == 5 || (batches == 1 && terms == 300))
          << t.plan_text();
      t.expect_right(1e-5);
      trial far = trial_of(form);
      far.random("a", {100, batches, terms}).random("b", {70, batches, terms}).random("w", {100, terms});
      EXPECT_TRUE(says(far, "cache tile 192 i x 256 k, 1 packed")) << far.plan_text();
      far.expect_right(1e-5);
    }
}

// Linear attention: what keys and values come to is a product of each head.
TEST(batched_products, linear_attention) {
  constexpr auto q = tensor<"q", float, 3>;
  constexpr auto phi = define<"phi">(h, i, k) = select(a(h, i, k) > 0_c, a(h, i, k) + 1_c, exp(a(h, i, k)));
  constexpr auto kv = define<"kv">(h, k, j) = sum(i, phi(h, i, k) * b(h, i, j));
  constexpr auto z = define<"z">(h, k) = sum(i, phi(h, i, k));
  constexpr auto out = define<"out">(h, i, j) = sum(k, q(h, i, k) * kv(h, k, j)) / sum(k, q(h, i, k) * z(h, k));
  constexpr auto loss = define<"loss">() = sum(over(h, i, j), out(h, i, j) * r(h, i, j));
  trial t = trial_of(out, grad(loss, q), grad(loss, a), grad(loss, b));
  for (const char* name : {"a", "b", "r"}) t.random(name, {2, 150, 64});
  std::vector<double> positive(2 * 150 * 64);
  for (std::size_t p = 0; p < positive.size(); ++p) positive[p] = 0.5 + static_cast<double>(p % 13) / 13;
  t.with("q", {2, 150, 64}, positive);
  EXPECT_TRUE(says(t, "of each h")) << t.plan_text();
  t.expect_right(1e-3);
}

}  // namespace
}  // namespace sheaf::test::batched_products_tests
