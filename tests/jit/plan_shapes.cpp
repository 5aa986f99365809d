// The same programs over many shapes: short rows, tails, blocks that don't divide, transposed inputs, other element
// types.
#include "plan_harness.hpp"

namespace sheaf::test::plan_shapes_tests {
namespace {

constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto k = axis<"k">;
constexpr auto m = axis<"m">;
constexpr auto b = axis<"b">;
constexpr auto t = axis<"t">;
constexpr auto f = axis<"f">;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto y = tensor<"y", float, 2>;
constexpr auto z = tensor<"z", double, 2>;
constexpr auto n = tensor<"n", std::int32_t, 2>;
constexpr auto cut = tensor<"cut", std::int64_t, 2>;
constexpr auto ids = tensor<"ids", std::int64_t, 1>;

const std::vector<std::vector<std::int64_t>> shapes = {{1, 1},   {3, 2},    {2, 300},  {300, 2},  {65, 64},
                                                       {5, 129}, {1, 5000}, {5000, 1}, {700, 150}};

TEST(plan_shapes, sums) {
  constexpr auto rows = define<"rows">(i) = sum(j, x(i, j));
  constexpr auto columns = define<"columns">(j) = mean(i, x(i, j));
  constexpr auto all = define<"all">() = max(over(i, j), x(i, j));
  for (const auto& shape : shapes)
    for (const bool turned : {false, true}) trial_of(rows, columns, all).random("x", shape, turned).expect_right(1e-4);
}
TEST(plan_shapes, softmax) {
  constexpr auto top = define<"top">(i) = max(j, x(i, j));
  constexpr auto e = define<"e">(i, j) = exp(x(i, j) - top(i));
  constexpr auto soft = define<"soft">(i, j) = e(i, j) / sum(k.in(0_c, extent(x, dim<1>)), e(i, k));
  constexpr auto loss = define<"loss">() = sum(over(i, j), soft(i, j) * y(i, j));
  for (const auto& shape : shapes)
    trial_of(soft, loss, grad(loss, x)).random("x", shape).random("y", shape, true).expect_right(1e-4);
}
TEST(plan_shapes, layer_norm) {
  constexpr auto gain = tensor<"gain", float, 1>;
  constexpr auto mu = define<"mu">(i) = mean(j, x(i, j));
  constexpr auto var = define<"var">(i) = mean(j, (x(i, j) - mu(i)) * (x(i, j) - mu(i)));
  constexpr auto norm = define<"norm">(i, j) = gain(j) * (x(i, j) - mu(i)) * rsqrt(var(i) + 0.1_c);
  constexpr auto loss = define<"loss">() = sum(over(i, j), norm(i, j) * y(i, j));
  for (const auto& shape : shapes)
    trial_of(norm, grad(loss, x), grad(loss, gain))
        .random("x", shape)
        .random("y", shape)
        .random("gain", {shape[1]})
        .expect_right(1e-4);
}
TEST(plan_shapes, slices) {
  constexpr auto pooled = define<"pooled">(m, f) = mean(t.in(cut(m, 0_c), cut(m, 1_c)), x(t, f));
  constexpr auto loss = define<"loss">() = sum(over(m, f), pooled(m, f) * pooled(m, f));
  for (const auto& shape : shapes) {
    std::vector<double> cuts;
    for (int s = 0; s < 50; ++s) {
      const auto low = s * 37 % shape[0];
      cuts.push_back(static_cast<double>(low));
      cuts.push_back(static_cast<double>(std::min(shape[0], low + 1 + s * 11 % 90)));
    }
    trial_of(pooled, loss, grad(loss, x)).random("x", shape).with("cut", {50, 2}, cuts).expect_right(1e-4);
  }
}
TEST(plan_shapes, embedding) {
  constexpr auto loss = define<"loss">() = sum(over(k, f), x(ids(k), f) * y(k, f));
  constexpr auto counts = define<"counts">(i) = sum(k, x(i, 0_c) * cast<float>(ids(k) == i));
  for (const auto& shape : shapes)
    trial_of(loss, counts, grad(loss, x), grad(loss, y))
        .random("x", shape)
        .random("y", {200, shape[1]})
        .below("ids", {200}, shape[0])
        .expect_right(1e-4);
}
TEST(plan_shapes, doubles_and_integers) {
  constexpr auto total = define<"total">(i) = sum(j, z(i, j) * cast<double>(n(i, j)));
  constexpr auto whole = define<"whole">(j) = sum(i, n(i, j));
  constexpr auto most = define<"most">() = max(over(i, j), n(i, j) * 2_c);
  constexpr auto first = define<"first">(i) = argmin(j, n(i, j));
  for (const auto& shape : shapes)
    trial_of(total, whole, most, first).random("z", shape).below("n", shape, 50).expect_right(1e-6);
}
TEST(plan_shapes, half_floats) {
  constexpr auto h = tensor<"h", float16, 2>;
  constexpr auto w = tensor<"w", bfloat16, 2>;
  constexpr auto rows = define<"rows">(i) = mean(j, h(i, j));
  constexpr auto columns = define<"columns">(j) = sum(i, w(i, j));
  constexpr auto product = define<"product">(i, j) = h(i, j) * w(i, j);
  constexpr auto loss = define<"loss">() = sum(over(k, f), w(ids(k), f) * y(k, f));
  for (const auto& shape : shapes) {
    trial_of(rows, columns, product).random("h", shape).random("w", shape).expect_right(1e-2);
    trial_of(loss, grad(loss, w))
        .random("w", shape)
        .random("y", {50, shape[1]})
        .below("ids", {50}, shape[0])
        .expect_right(1e-2);
  }
}
TEST(plan_shapes, turned_outputs) {
  constexpr auto scaled = define<"scaled">(i, j) = x(i, j) * 2_c + sum(k.in(0_c, extent(x, dim<1>)), x(i, k));
  constexpr auto loss = define<"loss">() = sum(over(k, f), x(ids(k), f) * y(k, f));
  for (const auto& shape : shapes) {
    trial test = trial_of(scaled, grad(loss, x));
    test.turned_outputs = true;
    test.random("x", shape).random("y", {50, shape[1]}).below("ids", {50}, shape[0]).expect_right(1e-4);
  }
}
// Some rows after the other as one, of a tensor that lies so and of one that doesn't: lanes divide in the latter alone.
TEST(plan_shapes, rows_in_groups) {
  constexpr auto columns = extent(x, dim<1>);
  constexpr auto at = x(i * 3_c + quotient(j, columns), j % columns);
  constexpr auto moved = x(1_c + quotient(j, columns) + i, j % columns);
  constexpr auto groups = quotient(extent(x, dim<0>), 3_c);
  constexpr auto joined = define<"joined">(i.in(0_c, groups), j.in(0_c, 3_c * columns)) = at * 2_c;
  constexpr auto sums = define<"sums">(i.in(0_c, groups)) = sum(j.in(0_c, 3_c * columns), at * at);
  constexpr auto pairs = define<"pairs">(i.in(0_c, extent(x, dim<0>) - 2_c)) = max(j.in(0_c, 2_c * columns), moved);
  constexpr auto loss = define<"loss">() = sum(i.in(0_c, groups), sums(i));
  for (const std::vector<std::int64_t>& shape : {std::vector<std::int64_t>{40, 12}, {65, 64}, {7, 300}, {3, 1}})
    for (const bool turned : {false, true}) {
      trial t = trial_of(joined, sums, pairs, grad(loss, x));
      t.random("x", shape, turned);
      EXPECT_EQ(t.plan_text().find("linearise") != std::string::npos, !turned) << t.plan_text();
      t.expect_right(1e-4);
    }
}
TEST(plan_shapes, products) {
  constexpr auto c = define<"c">(i, j) = sum(k, x(i, k) * y(k, j));
  constexpr auto loss = define<"loss">() = mean(over(i, j), tanh(c(i, j)));
  for (const auto& shape : shapes)
    if (shape[0] * shape[1] < 20000)
      trial_of(c, grad(loss, x), grad(loss, y)).random("x", shape).random("y", {shape[1], 19}).expect_right(1e-4);
}
TEST(plan_shapes, second_gradient) {
  constexpr auto loss = define<"loss">() = sum(over(i, j), x(i, j) * x(i, j) * x(i, j) * y(i, j));
  constexpr auto g1 = grad(loss, x);
  constexpr auto dot = define<"dot">() = sum(over(i, j), g1(i, j) * y(i, j));
  for (const auto& shape : shapes) trial_of(dot, grad(dot, x)).random("x", shape).random("y", shape).expect_right(1e-4);
}

}  // namespace
}  // namespace sheaf::test::plan_shapes_tests
