// Results of images that are read place by place are computed as rows of all their places.
#include <support/both.hpp>

namespace {
using namespace sheaf;
using namespace sheaf::test;

constexpr auto n = axis<"n">;
constexpr auto o = axis<"o">;
constexpr auto c = axis<"c">;
constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto x = tensor<"x", float, 4>;
constexpr auto w = tensor<"w", float, 2>;
constexpr auto y = define<"y">(n, o, i, j) = sum(c, w(o, c) * x(n, c, i, j));
constexpr auto loss = define<"loss">() = sum(over(n, o, i, j), y(n, o, i, j) * y(n, o, i, j));

TEST(images, convolutions_of_one_point) {
  const auto step = compile(y);
  const auto weights = noise_array<float>(0, 1, 33, 20);
  const auto images = noise_array<float>(0, 1, 2, 20, 7, 9);
  const std::string plan = step.explain(x = images, w = weights);
  EXPECT_NE(plan.find("collapsed results"), std::string::npos) << plan;
  both(y, grad(loss, x), grad(loss, w))(x = images, w = weights);
  for (const std::int64_t rows : {1, 3, 0, 17})
    for (const std::int64_t columns : {1, 5, 16, 0, 64, 70})
      both(y, grad(loss, x))(x = noise_array<float>(0, 1, 2, 20, rows, columns), w = weights);
}

// Rows with gaps between them, of inputs and of outputs, stay rows.
TEST(images, rows_with_gaps) {
  const auto weights = noise_array<float>(0, 1, 33, 20);
  const auto wide = noise_array<float>(0, 1, 2, 20, 14, 18);
  const view<const float, 4> whole = wide;
  both(y)(x = whole.strided(2, 2).strided(3, 2), w = weights);
  const view<const float, 4> apart = whole.strided(2, 2);
  both(y)(x = apart, w = weights);
  const auto images = noise_array<float>(0, 1, 2, 20, 7, 9);
  const auto step = compile(y);
  const array<float, 4> expected = step(x = images, w = weights);
  array<float, 4> room(2, 33, 14, 9);
  std::fill_n(room.data(), room.size(), -7.0F);
  const view<float, 4> every_second = view<float, 4>(room).strided(2, 2);
  step(x = images, w = weights, y = every_second);
  for (std::int64_t k = 0; k < 2 * 33 * 7; ++k)
    for (std::int64_t at = 0; at < 9; ++at) {
      EXPECT_EQ(room.data()[2 * k * 9 + at], expected.data()[k * 9 + at]);
      EXPECT_EQ(room.data()[(2 * k + 1) * 9 + at], -7.0F);
    }
}

// What asks for a row or a column by itself.
TEST(images, that_are_told_where_they_are) {
  const auto images = noise_array<float>(0, 1, 2, 20, 7, 9);
  const auto weights = noise_array<float>(0, 1, 33, 20);
  constexpr auto placed = define<"placed">(n, o, i, j) =
      sum(c, w(o, c) * x(n, c, i, j)) * cast<float>(j) + cast<float>(i);
  constexpr auto flipped = define<"flipped">(n, o, i, j.in(0_c, x.extent(dim<3>))) =
      sum(c, w(o, c) * x(n, c, i, x.extent(dim<3>) - 1_c - j));
  constexpr auto scaled = define<"scaled">(n, o, i, j) = sum(c, w(o, c) * x(n, c, i, j)) * x(n, 0_c, 0_c, j);
  both(placed, flipped, scaled)(x = images, w = weights);
}

}  // namespace
