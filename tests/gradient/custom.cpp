// Gradients that the user gives, and gradients along one path of several.
#include <support/both.hpp>

namespace {
using namespace sheaf;
using namespace sheaf::test;

constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto x = tensor<"x", double, 1>;
constexpr auto w = tensor<"w", double, 1>;
constexpr auto m = tensor<"m", double, 2>;
constexpr auto pick = tensor<"pick", std::int64_t, 1>;

template <int Rank>
std::vector<double> numbers(const array<double, Rank>& a) {
  return std::vector<double>(a.begin(), a.end());
}
using list_of = std::vector<double>;

// Rounded forward, as if nothing had happened backward.
TEST(custom_gradient, straight_through) {
  constexpr auto rounded = define<"rounded">(i) = round(x(i));
  constexpr auto through = custom_gradient(rounded, [](auto, auto dy) { return by(x)(i) = dy(i); });
  constexpr auto loss = define<"loss">() = sum(i, through(i) * through(i) * w(i));
  const auto [y, l, dx, dw] = both(through, loss, grad(loss, x), grad(loss, w))(x = list<double>({1.2, 0.7, -3.4}),
                                                                                w = list<double>({1, 2, 3}));
  EXPECT_EQ(numbers(y), (list_of{1, 1, -3}));
  EXPECT_EQ(l, 1 + 2 + 27.0);
  EXPECT_EQ(numbers(dx), (list_of{2, 4, -18}));
  EXPECT_EQ(numbers(dw), (list_of{1, 1, 9}));
}
// The same without a definition.
TEST(custom_gradient, graft) {
  constexpr auto loss = define<"loss">() = sum(i, graft(round(x(i)), x(i)) * w(i));
  EXPECT_EQ(numbers(both(grad(loss, x))(x = list<double>({0.6, 2}), w = list<double>({3, 4}))), (list_of{3, 4}));
  constexpr auto clipped = define<"clipped">() = sum(i, graft(x(i), minimum(x(i), 1_c)) * w(i));
  const auto [l, dx] = both(clipped, grad(clipped, x))(x = list<double>({0.6, 2}), w = list<double>({3, 4}));
  EXPECT_EQ(l, 0.6 * 3 + 8);
  EXPECT_EQ(numbers(dx), (list_of{3, 0}));
}
// A rule sees the value, reduces, and names inputs of other shapes; what it does not name gets nothing.
TEST(custom_gradient, by_several_inputs) {
  constexpr auto product = define<"product">(i) = sum(j, m(i, j) * x(j));
  constexpr auto ruled = custom_gradient(
      product, [](auto, auto dy) { return by(x)(j) = sum(i, dy(i) * m(i, j)) * 10_c; },
      [](auto y, auto dy) { return by(m)(i, j) = y(i) * dy(i) + 0_c * m(i, j); });
  constexpr auto loss = define<"loss">() = sum(i, ruled(i) * w(i)) + sum(j, x(j));
  const array<double, 2> grid = filled(array<double, 2>(2, 2), {1, 2, 3, 4});
  const auto [dx, dm] =
      both(grad(loss, x), grad(loss, m))(x = list<double>({1, 2}), m = grid, w = list<double>({1, 100}));
  EXPECT_EQ(numbers(dx), (list_of{3011, 4021}));
  EXPECT_EQ(numbers(dm), (list_of{5, 5, 1100, 1100}));
}
// Indices may have sizes, in the definition and in the rule.
TEST(custom_gradient, of_sized_indices) {
  constexpr auto longer = define<"longer">(i.in(0_c, extent(x, dim<0>) + 1_c)) = x.padded(0_c)(i) * 2_c;
  constexpr auto ruled = custom_gradient(
      longer, [](auto, auto dy) { return by(x)(j.in(0_c, extent(x, dim<0>))) = dy(j + 1_c) * 10_c; });
  constexpr auto loss = define<"loss">() = sum(i, ruled(i) * w(i));
  const auto [y, dx] = both(ruled, grad(loss, x))(x = list<double>({1, 2}), w = list<double>({1, 2, 3}));
  EXPECT_EQ(numbers(y), (list_of{2, 4, 0}));
  EXPECT_EQ(numbers(dx), (list_of{20, 30}));
}
// The rule's own expressions are differentiated for the second order, through the cotangent as well.
TEST(custom_gradient, of_second_order) {
  constexpr auto square = define<"square">(i) = x(i) * x(i);
  constexpr auto ruled = custom_gradient(square, [](auto y, auto dy) { return by(x)(i) = dy(i) * x(i) * y(i); });
  constexpr auto loss = define<"loss">() = sum(i, ruled(i) * ruled(i) * 0.5_c);
  constexpr auto slope = define<"slope">() = sum(i, grad(loss, x)(i));
  // The gradient is y x y, whose derivative is y y, and 2 x y times the rule's x y.
  const auto [dx, hx] = both(grad(loss, x), grad(slope, x))(x = list<double>({1, 2}));
  EXPECT_EQ(numbers(dx), (list_of{1, 4 * 2 * 4}));
  EXPECT_EQ(numbers(hx), (list_of{1 + 2, 16 + 2 * 2 * 4 * 2 * 4}));
}
// At namespace scope: a rule without captures sees it there.
constexpr auto norm = define<"norm">() = sum(i, x(i) * x(i));

// A rule by a definition that the value is made of, of rank 0.
TEST(custom_gradient, by_a_definition_of_rank_0) {
  constexpr auto root = define<"root">() = sqrt(norm());
  constexpr auto safe =
      custom_gradient(root, [](auto y, auto dy) { return by(norm) = select(y() == 0_c, 0_c, dy() / (2_c * y())); });
  const auto [r, dx] = both(safe, grad(safe, x))(x = list<double>({3, 4}));
  EXPECT_EQ(r, 5.0);
  EXPECT_DOUBLE_EQ(dx(0), 0.6);
  EXPECT_DOUBLE_EQ(dx(1), 0.8);
  EXPECT_EQ(numbers(both(grad(safe, x))(x = list<double>({0, 0}))), (list_of{0, 0}));
}

// What multiplies or divides the cotangent is evaluated, and read, where the definition is used, be it by slices of
// data, a mask or a range: elsewhere 0 * inf would be NaN, and an index outside an error.
TEST(custom_gradient, nothing_outside_of_its_use) {
  constexpr auto t = axis<"t">;
  constexpr auto off = tensor<"off", std::int64_t, 1>;
  constexpr auto doubled = define<"doubled">(i) = x(i) * 2_c;
  constexpr auto by_distance =
      custom_gradient(doubled, [](auto, auto dy) { return by(x)(i) = dy(i) / (x(i) - 4_c) + log(x(i) - 4_c) * dy(i); });
  constexpr auto slices = define<"slices">(j.in(0_c, 2_c)) = sum(t.in(off(j), off(j + 1_c)), by_distance(t));
  constexpr auto ragged = define<"ragged">() = sum(j.in(0_c, 2_c), slices(j) * w(j));
  EXPECT_EQ(numbers(both(grad(ragged, x))(x = list<double>({5, 4, 5, 4}), w = list<double>({3, 7}),
                                          off = list<std::int64_t>({2, 3, 3}))),
            (list_of{0, 0, 3, 0}));

  constexpr auto by_gather = custom_gradient(doubled, [](auto, auto dy) { return by(x)(i) = w(pick(i)) * dy(i); });
  constexpr auto masked = define<"masked">() = sum(i.where(pick(i) < 2_c), by_gather(i));
  constexpr auto ranged = define<"ranged">() = sum(i.in(0_c, 2_c), by_gather(i));
  const auto [by_mask, by_range] = both(grad(masked, x), grad(ranged, x))(
      x = list<double>({1, 2, 3}), w = list<double>({3, 7}), pick = list<std::int64_t>({1, 0, 9}));
  EXPECT_EQ(numbers(by_mask), (list_of{7, 3, 0}));
  EXPECT_EQ(numbers(by_range), (list_of{7, 3, 0}));
}
// A rule that sums: where none of its cotangents counts, its divisor does not either.
TEST(custom_gradient, sums_of_nothing) {
  constexpr auto product = define<"product">(i) = sum(j, m(i, j) * x(j));
  constexpr auto ruled =
      custom_gradient(product, [](auto, auto dy) { return by(x)(j) = sum(i.in(0_c, j), dy(i)) / x(j); });
  constexpr auto loss = define<"loss">() = sum(i.in(1_c, 2_c), ruled(i));
  const array<double, 2> grid = filled(array<double, 2>(3, 3), {1, 2, 3, 4, 5, 6, 7, 8, 9});
  EXPECT_EQ(numbers(both(grad(loss, x))(x = list<double>({0, 0, 2}), m = grid)), (list_of{0, 0, 0.5}));
}

// One element of x: the element is named as a definition, a tap, where it is used; the gradient by the tap is the one
// through that use alone, and the gradient by x has all.
TEST(paths, one_element) {
  constexpr auto loss = define<"loss">() = 2_c * x(2_c) + sum(i, x(i));
  EXPECT_EQ(numbers(both(grad(loss, x))(x = list<double>({5, 6, 7, 8}))), (list_of{1, 1, 3, 1}));
  constexpr auto tap = define<"tap">() = x(2_c);
  constexpr auto tapped = define<"tapped">() = 3_c * tap() + sum(i, x(i));
  const auto [one, all] = both(grad(tapped, tap), grad(tapped, x))(x = list<double>({5, 6, 7, 8}));
  EXPECT_EQ(one, 3.0);
  EXPECT_EQ(numbers(all), (list_of{1, 1, 4, 1}));
}
TEST(paths, one_term_of_a_sum) {
  constexpr auto tap = define<"tap">() = x(2_c) * w(2_c);
  constexpr auto loss = define<"loss">() = sum(i.where(i != 2_c), x(i) * w(i)) + tap();
  const auto [dx, dw, through] =
      both(grad(loss, x), grad(loss, w), grad(tap, x))(x = list<double>({1, 2, 3, 4}), w = list<double>({5, 6, 7, 8}));
  EXPECT_EQ(numbers(dx), (list_of{5, 6, 7, 8}));
  EXPECT_EQ(numbers(dw), (list_of{1, 2, 3, 4}));
  EXPECT_EQ(numbers(through), (list_of{0, 0, 7, 0}));
}
// The other way round: the other paths are stopped, under a condition on the index.
TEST(paths, others_stopped) {
  constexpr auto only = define<"only">() = sum(i, select(i == 2_c, x(i), stop_gradient(x(i))) * w(i));
  const auto [l, dx] = both(only, grad(only, x))(x = list<double>({1, 2, 3, 4}), w = list<double>({5, 6, 7, 8}));
  EXPECT_EQ(l, 70.0);
  EXPECT_EQ(numbers(dx), (list_of{0, 0, 7, 0}));
}

}  // namespace
