// Convolutions with channels: values and gradients against the evaluator, for places that no block and no lane divides;
// the same bits for any tasks.
#include "convolutions.hpp"

namespace sheaf::test::convolutions_tests {
namespace {

using namespace convolutions;

bool says(trial& test, const char* words) { return test.plan_text().find(words) != std::string::npos; }

void expect_right_in_any_tasks(trial& test) {
  test.expect_right(1e-4);
  const auto once = test.outputs.back().bytes;
  test.code->call.parallel_for = in_odd_tasks;
  ASSERT_EQ(test.run(), 0);
  EXPECT_EQ(test.outputs.back().bytes, once);
}

constexpr auto g = tensor<"g", float, 4>;
constexpr auto h = tensor<"h", float, 3>;

// What all places of a kernel read of the gradient is packed once, whatever part of it each of them walks.
TEST(convolutions, weights_have_panels_for_all_places) {
  constexpr auto across = i.in(0_c, extent(g, dim<2>));
  constexpr auto along = j.in(0_c, extent(g, dim<3>));
  constexpr auto y = define<"y">(n.in(0_c, extent(g, dim<0>)), o, across, along) =
      sum(over(c, u, v), images.padded(0_c)(n, c, i + u - 1_c, j + v - 1_c) * weights(o, c, u, v));
  constexpr auto loss = define<"loss">() =
      sum(over(n.in(0_c, extent(g, dim<0>)), o, across, along), y(n, o, i, j) * g(n, o, i, j));
  for (const std::int64_t places : {7, 30, 41}) {
    SCOPED_TRACE(testing::Message() << places << " places");
    trial test = trial_of(grad(loss, weights));
    test.random("images", {3, 18, places, places}).random("weights", {17, 18, 3, 3});
    test.random("g", {3, 17, places, places});
    EXPECT_TRUE(says(test, "1 packed, for all u and v")) << test.plan_text();
    expect_right_in_any_tasks(test);
  }
}

TEST(convolutions, weights_of_lines_with_gaps) {
  constexpr auto along = i.in(0_c, extent(h, dim<2>));
  constexpr auto y = define<"y">(n.in(0_c, extent(h, dim<0>)), o, along) =
      sum(over(c, u), x.padded(0_c)(n, c, 2_c * i + 3_c * u - 4_c) * w(o, c, u));
  constexpr auto loss = define<"loss">() =
      sum(over(n.in(0_c, extent(h, dim<0>)), o, along), y(n, o, i) * h(n, o, i));
  trial test = trial_of(grad(loss, w));
  test.random("x", {5, 20, 301}).random("w", {33, 20, 4}).random("h", {5, 33, 150});
  EXPECT_TRUE(says(test, "1 packed, for all u")) << test.plan_text();
  expect_right_in_any_tasks(test);
}

// Of a kernel of three dimensions blocks have parts of the last two; where the first is, each place of it asks.
TEST(convolutions, weights_of_volumes) {
  constexpr auto t = axis<"t">;
  constexpr auto s = axis<"s">;
  constexpr auto cubes = tensor<"cubes", float, 5>;
  constexpr auto kernel = tensor<"kernel", float, 5>;
  constexpr auto k = tensor<"k", float, 5>;
  constexpr auto deep = t.in(0_c, extent(k, dim<2>));
  constexpr auto across = i.in(0_c, extent(k, dim<3>));
  constexpr auto along = j.in(0_c, extent(k, dim<4>));
  constexpr auto y = define<"y">(n.in(0_c, extent(k, dim<0>)), o, deep, across, along) =
      sum(over(c, s, u, v), cubes.padded(0_c)(n, c, t + s - 1_c, i + u - 1_c, j + v - 1_c) * kernel(o, c, s, u, v));
  constexpr auto loss = define<"loss">() =
      sum(over(n.in(0_c, extent(k, dim<0>)), o, deep, across, along), y(n, o, t, i, j) * k(n, o, t, i, j));
  trial test = trial_of(grad(loss, kernel));
  test.random("cubes", {2, 16, 5, 9, 11}).random("kernel", {16, 16, 3, 3, 3}).random("k", {2, 16, 5, 9, 11});
  EXPECT_TRUE(says(test, "1 packed, for all s and u and v")) << test.plan_text();
  expect_right_in_any_tasks(test);
}

// What the outermost walk alone reads would be read at places that not every place of the kernel has, or none.
TEST(convolutions, weights_beside_a_factor_of_the_outermost_walk) {
  constexpr auto t = axis<"t">;
  constexpr auto s = axis<"s">;
  constexpr auto frames = tensor<"frames", float, 4>;
  constexpr auto when = tensor<"when", float, 1>;
  constexpr auto kernel = tensor<"kernel", float, 5>;
  constexpr auto deep = t.in(0_c, extent(g, dim<1>));
  constexpr auto across = i.in(0_c, extent(g, dim<2>));
  constexpr auto along = j.in(0_c, extent(g, dim<3>));
  constexpr auto y = define<"y">(o, deep, across, along) =
      sum(over(c, s, u, v), frames.padded(0_c)(c, t + s - 1_c, i + u - 1_c, j + v - 1_c) *
                                when.padded(0_c)(t + s - 1_c) * kernel(o, c, s, u, v));
  constexpr auto loss = define<"loss">() = sum(over(o, deep, across, along), y(o, t, i, j) * g(o, t, i, j));
  for (const std::int64_t times : {3, 0}) {
    trial test = trial_of(grad(loss, kernel));
    test.random("frames", {18, times, 5, 31}).random("when", {times}).random("kernel", {17, 18, 3, 3, 3});
    test.random("g", {17, times, 5, 31});
    EXPECT_FALSE(says(test, "packed, for all")) << test.plan_text();
    expect_right_in_any_tasks(test);
  }
  constexpr auto z = tensor<"z", float, 1>;
  constexpr auto most = define<"most">(c, o) = sum(over(t, i, j), maximum(z(t), x(c, i, j) * images(o, t, i, j)));
  for (const std::int64_t times : {6, 0}) {
    trial test = trial_of(most);
    test.random("x", {100, 9, 11}).random("z", {times}).random("images", {40, times, 9, 11});
    expect_right_in_any_tasks(test);
  }
}

// One matrix for many batches is packed for several of them.
TEST(convolutions, a_layer_of_batches) {
  constexpr auto matrix = tensor<"matrix", float, 2>;
  constexpr auto y = define<"y">(n, i, o) = sum(c, x(n, i, c) * matrix(c, o));
  trial test = trial_of(y);
  test.random("x", {37, 19, 300}).random("matrix", {300, 70});
  EXPECT_TRUE(says(test, "1 packed, for all")) << test.plan_text();
  expect_right_in_any_tasks(test);
}

// The rows of an image stay in L1 for all channels of the result.
TEST(convolutions, points_of_images) {
  constexpr auto matrix = tensor<"matrix", float, 2>;
  constexpr auto y = define<"y">(n, o, i, j) = sum(c, images(n, c, i, j) * matrix(o, c));
  trial test = trial_of(y);
  test.random("images", {3, 40, 21, 70}).random("matrix", {50, 40});
  EXPECT_TRUE(says(test, "loops: i, n, o, j")) << test.plan_text();
  expect_right_in_any_tasks(test);
  trial narrow = trial_of(y);
  narrow.random("images", {3, 40, 21, 30}).random("matrix", {50, 40});
  EXPECT_TRUE(says(narrow, "rules: collapsed results")) << narrow.plan_text();
  expect_right_in_any_tasks(narrow);
}

}  // namespace
}  // namespace sheaf::test::convolutions_tests
