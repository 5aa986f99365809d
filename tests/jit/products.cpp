// Products of matrices that something else meets: each is computed once, in tiles of its own.
#include <limits>

#include "plan_harness.hpp"

namespace sheaf::test::products_tests {
namespace {

constexpr auto b = axis<"b">;
constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto o = axis<"o">;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto w = tensor<"w", float, 2>;
constexpr auto v = tensor<"v", float, 2>;
constexpr auto r = tensor<"r", float, 2>;
constexpr auto c = tensor<"c", float, 1>;
constexpr auto mu = tensor<"mu", float, 1>;

std::size_t count_of(const std::string& text, const std::string& word) {
  std::size_t n = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++n;
  return n;
}

// A layer with a rectifier, and its gradients: three products, whatever else walks the same rows.
constexpr auto layer = define<"layer">(b, o) = relu(sum(i, x(b, i) * w(o, i)) + c(o));
constexpr auto layer_loss = define<"layer_loss">() = sum(over(b, o), layer(b, o) * r(b, o));

TEST(products, a_layer_multiplies_three_times) {
  trial t = trial_of(layer, layer_loss, grad(layer_loss, x), grad(layer_loss, w), grad(layer_loss, c));
  t.random("x", {48, 34}).random("w", {66, 34}).random("c", {66}).random("r", {48, 66});
  const std::string plan = t.plan_text();
  EXPECT_EQ(count_of(plan, "stage masked_product("), count_of(plan, "stage product(") - 1) << plan;
  EXPECT_EQ(count_of(plan, "a product that several stages take"), 1u) << plan;
  EXPECT_EQ(plan.find("pair tiles"), std::string::npos) << plan;
  t.expect_right(1e-5);
}
// What a mask hides stays hidden, be it infinite; what it does not hide comes out.
TEST(products, a_mask_hides_what_is_infinite) {
  constexpr auto y = define<"y">(b, i) = sum(o, select(v(b, o) > 0_c, r(b, o), 0_c) * w(o, i));
  for (const bool hidden : {true, false}) {
    trial t = trial_of(y);
    std::vector<double> mask(100 * 90), weights(90 * 80);
    for (std::size_t k = 0; k < mask.size(); ++k) mask[k] = k % 90 == 7 ? (hidden ? -1 : k % 2 ? 1 : -1) : k % 3 - 1.0;
    for (std::size_t k = 0; k < weights.size(); ++k) weights[k] = static_cast<double>(k % 11) - 5;
    weights[7 * 80 + 3] = std::numeric_limits<double>::infinity();
    weights[7 * 80 + 5] = std::numeric_limits<double>::quiet_NaN();
    t.with("v", {100, 90}, mask).random("r", {100, 90}).with("w", {90, 80}, weights);
    EXPECT_EQ(count_of(t.plan_text(), "stage masked_product("), 1u) << t.plan_text();
    t.expect_right(1e-5);
  }
}
// Two products in one expression, and functions of both.
TEST(products, a_gated_layer_has_products_of_their_own) {
  constexpr auto y = define<"y">(b, o) = silu(sum(i, x(b, i) * w(i, o))) * sum(i, x(b, i) * v(i, o));
  constexpr auto loss = define<"loss">() = sum(over(b, o), y(b, o) * r(b, o));
  trial t = trial_of(y, grad(loss, x), grad(loss, w), grad(loss, v));
  t.random("x", {40, 34}).random("w", {34, 66}).random("v", {34, 66}).random("r", {40, 66});
  EXPECT_EQ(count_of(t.plan_text(), "a product that several stages take"), 2u) << t.plan_text();
  t.expect_right(1e-5);
}
TEST(products, a_quadratic_form_multiplies_by_its_matrix_first) {
  constexpr auto d = define<"d">(b, i) = x(b, i) - mu(i);
  constexpr auto q = define<"q">(b) = sum(over(i, j), d(b, i) * w(i, j) * d(b, j));
  constexpr auto loss = define<"loss">() = sum(b, q(b) * c(b));
  trial t = trial_of(q, grad(loss, x), grad(loss, mu), grad(loss, w));
  t.random("x", {100, 40}).random("w", {40, 40}).random("mu", {40}).random("c", {100});
  EXPECT_NE(t.plan_text().find("order of contraction"), std::string::npos) << t.plan_text();
  t.expect_right(1e-5);
}
// All covariances but variances: a condition on both indices of a factor.
TEST(products, conditions_of_a_factor) {
  constexpr auto m = define<"m">(i) = mean(b, x(b, i));
  constexpr auto s = define<"s">(i, j) = sum(b, (x(b, i) - m(i)) * (x(b, j) - m(j)));
  constexpr auto loss = define<"loss">() = sum(over(i, j.where(i != j)), s(i, j) * s(i, j));
  trial t = trial_of(loss, grad(loss, x));
  t.random("x", {66, 64});
  EXPECT_NE(t.plan_text().find("masked_product"), std::string::npos) << t.plan_text();
  t.expect_right(1e-5);
}
// The second layer's gradient names the first layer's results by other indices.
TEST(products, one_product_under_several_names) {
  constexpr auto h = define<"h">(b, o) = relu(sum(i, x(b, i) * w(i, o)));
  constexpr auto y = define<"y">(b, j) = sum(i, h(b, i) * v(i, j));
  constexpr auto loss = define<"loss">() = sum(over(b, j), y(b, j) * r(b, j));
  trial t = trial_of(loss, grad(loss, w), grad(loss, v));
  t.random("x", {48, 34}).random("w", {34, 64}).random("v", {64, 40}).random("r", {48, 40});
  EXPECT_EQ(t.plan_text().find("pair tiles"), std::string::npos) << t.plan_text();
  t.expect_right(1e-5);
}
// Nothing reads behind a condition what the condition keeps it from.
TEST(products, rows_that_a_condition_guards) {
  constexpr auto ids = tensor<"ids", std::int64_t, 1>;
  constexpr auto y = define<"y">(b, o) =
      select(ids(b) >= 0_c, sum(i, x(ids(b), i) * w(i, o)), 0_c) + sum(i, v(b, i) * w(i, o));
  trial t = trial_of(y, vjp(y, v, r));
  std::vector<double> rows(100);
  for (std::size_t k = 0; k < rows.size(); ++k) rows[k] = static_cast<double>(k % 40) - 1;
  t.random("x", {39, 64}).random("w", {64, 80}).random("v", {100, 64}).random("r", {100, 80}).with("ids", {100}, rows);
  t.expect_right(1e-5);
}
// Within the sum over j of each diagonal element, j is not the column of the results around it.
TEST(products, sums_over_an_index_of_the_result) {
  constexpr auto d = define<"d">(j.in(0_c, extent(x, dim<1>)), i) = minimum(x.padded(0_c)(3_c * j, j), x(i, i));
  constexpr auto loss = define<"loss">() = sum(over(j, i), d(j, i));
  for (const std::int64_t count : {1, 5, 40}) {
    trial t = trial_of(grad(loss, x));
    t.random("x", {count, count});
    t.expect_right(1e-5);
  }
}

}  // namespace
}  // namespace sheaf::test::products_tests
