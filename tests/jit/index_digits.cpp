// Indices of flattened tensors and their digits: sums by key of a digit, gradients of what is read through a quotient
// and a remainder or through a number that is made of digits, slices of computed ends.
#include "solved_plans.hpp"

namespace sheaf::test::index_digits_tests {
namespace {

constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto k = axis<"k">;
constexpr auto l = axis<"l">;
constexpr auto p = axis<"p">;
constexpr auto q = axis<"q">;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto y = tensor<"y", float, 2>;
constexpr auto row = tensor<"row", double, 1>;
constexpr auto rows = extent(x, dim<0>);
constexpr auto columns = extent(x, dim<1>);

TEST(index_digits, of_a_key) {
  constexpr auto tens = define<"tens">(k.in(0_c, 7_c)) = sum(i.where(quotient(i, 10_c) % 7_c == k), row(i));
  constexpr auto ones = define<"ones">(k.in(0_c, 3_c)) = sum(i.where(i % 6_c == k || i % 6_c == k + 3_c), row(i));
  constexpr auto both = define<"both">(j.in(0_c, 5_c), k.in(0_c, 4_c)) =
      sum(i.where(quotient(i, 4_c) == j && i % 4_c == k), row(i) * row(i));
  for (const std::int64_t n : {0, 1, 9, 10, 11, 69, 70, 71, 500})
    expect_solved(right({{"row", {n}}}, tens, ones, both, grad(define<"loss">() = sum(k, tens(k) * tens(k)), row)));
}

// Of a divisor that may be 0 or less, where the number is divided all the same.
TEST(index_digits, of_windows_of_an_image) {
  constexpr auto wide = columns - 2_c;
  constexpr auto places = l.in(0_c, (rows - 2_c) * wide);
  constexpr auto window = over(p.in(0_c, 3_c), q.in(0_c, 3_c));
  constexpr auto at = x.padded(0_c)(quotient(l, wide) + p, l % wide + q);
  constexpr auto sums = define<"sums">(places) = sum(window, at * y(p, q));
  constexpr auto loss = define<"loss">() = sum(places, sums(l) * row.padded(0_c)(l));
  for (const std::int64_t r : {0, 1, 2, 3, 5, 17})
    for (const std::int64_t c : {0, 1, 2, 3, 4, 40}) {
      SCOPED_TRACE(std::to_string(r) + " x " + std::to_string(c));
      const std::string plan = right({{"x", {r, c}}, {"y", {3, 3}}, {"row", {90}}}, grad(loss, x), grad(loss, y));
      EXPECT_TRUE(r < 17 || c < 40 || has(plan, "digits of indices")) << plan;
    }
}

// A number of one digit more for each dimension.
TEST(index_digits, of_flattened_subscripts) {
  constexpr auto z = tensor<"z", double, 3>;
  constexpr auto a = extent(z, dim<1>);
  constexpr auto b = extent(z, dim<2>);
  constexpr auto at = (i * a + j) * b + k;
  constexpr auto loss = define<"loss">() = sum(over(i, j, k), z(i, j, k) * z(i, j, k) * row(at));
  constexpr auto turned = define<"turned">(l.in(0_c, extent(z, dim<0>) * a * b)) =
      sum(over(i, j, k.where(at == l)), z(i, j, k));
  for (const std::int64_t n : {0, 1, 2, 5})
    for (const std::int64_t d : {0, 1, 3, 8}) {
      trial test(detail::build_graph<decltype(grad(loss, row)), decltype(turned)>());
      test.random("z", {n, 3, d}).random("row", {n * 3 * d}).expect_right();
      if (n == 5 && d == 8) expect_solved(test.plan_text());
    }
}
TEST(index_digits, of_constant_digits) {
  constexpr auto at = 9_c * i + 3_c * p + q;
  constexpr auto window = over(p.in(0_c, 3_c), q.in(0_c, 3_c));
  constexpr auto loss = define<"loss">() =
      sum(i.in(0_c, quotient(extent(row, dim<0>), 9_c)), sum(window, row(at) * y(p, q)) * row(i));
  // Digits that do not fill their base, begin elsewhere, or count down.
  constexpr auto gaps = define<"gaps">() = sum(over(i.in(0_c, 4_c), p.in(1_c, 4_c), q.in(0_c, 2_c)),
                                               row(100_c * i + 10_c * p + 5_c - q) * y(p - 1_c, q));
  for (const std::int64_t n : {9, 18, 500}) right({{"row", {n}}, {"y", {3, 3}}}, grad(loss, row), grad(loss, y));
  right({{"row", {400}}, {"y", {3, 3}}}, grad(gaps, row), grad(gaps, y));
}

// Every element of a Kronecker product, and its gradients.
TEST(index_digits, of_both_factors) {
  constexpr auto n = extent(y, dim<0>);
  constexpr auto m = extent(y, dim<1>);
  constexpr auto product = define<"product">(i.in(0_c, rows * n), j.in(0_c, columns * m)) =
      x(quotient(i, n), quotient(j, m)) * y(i % n, j % m);
  constexpr auto loss = define<"loss">() = sum(over(i.in(0_c, rows * n), j.in(0_c, columns * m)),
                                               product(i, j) * product(i, j));
  for (const std::int64_t r : {0, 1, 3})
    for (const std::int64_t c : {0, 1, 5}) right({{"x", {r, 4}}, {"y", {2, c}}}, product, grad(loss, x), grad(loss, y));
}

// The range of another index follows from the one with digits.
TEST(index_digits, of_ranges_that_follow) {
  constexpr auto sums = define<"sums">(k.in(0_c, 3_c)) =
      sum(over(i, j.in(0_c, minimum(quotient(i, 3_c) + 1_c, extent(row, dim<0>))).where(i % 3_c == k)),
          row(i) * row(j));
  constexpr auto loss = define<"loss">() = sum(k, sums(k) * sums(k));
  for (const std::int64_t n : {0, 1, 2, 3, 4, 50}) right({{"row", {n}}}, sums, grad(loss, row));
}

// Sums in the terms are computed once for each of them, as a scatter does, not for each element that they are in.
TEST(index_digits, not_of_terms_that_are_folded) {
  constexpr auto z = tensor<"z", float, 2>;
  constexpr auto s = define<"s">(i, j) = exp(sum(k, x(i, k) * y(quotient(i, 4_c), k) * z(j, k)));
  constexpr auto loss = define<"loss">() = sum(over(i, j), s(i, j) * s(i, j));
  trial test(detail::build_graph<decltype(grad(loss, y))>());
  test.random("x", {16, 9}).random("y", {4, 9}).random("z", {20, 9}).expect_right();
  EXPECT_FALSE(has(test.plan_text(), "digits of indices")) << test.plan_text();
}

// Where what a term is of such an index is stored first, the sum is a scatter already.
TEST(index_digits, of_a_scatter) {
  constexpr auto n = extent(row, dim<0>);
  constexpr auto d = define<"d">(k.in(0_c, 3_c), q.in(0_c, 8_c)) = y(q % 4_c, k) * row(q % n);
  constexpr auto loss = define<"loss">() = sum(over(k, q), d(k, q));
  for (const std::int64_t rows : {1, 2, 4, 9}) right({{"row", {rows}}, {"y", {4, 3}}}, grad(loss, row), grad(loss, y));
}

// The rows of a triangle, one after the other.
TEST(index_digits, of_a_triangle) {
  constexpr auto at = quotient(i * (i + 1_c), 2_c) + j;
  constexpr auto lower = define<"lower">(i, j) = select(j <= i, row(at) * x(i, j), 0_c);
  constexpr auto loss = define<"loss">() = sum(over(i, j), lower(i, j) * lower(i, j));
  for (const std::int64_t n : {0, 1, 2, 3, 9, 60})
    right({{"row", {n * (n + 1) / 2}}, {"x", {n, n}}}, grad(loss, row), grad(loss, x));
  trial test(detail::build_graph<decltype(grad(loss, row))>());
  test.random("row", {400 * 401 / 2}).random("x", {400, 400}).make();
  EXPECT_TRUE(has(test.plan_text(), "range scatter")) << test.plan_text();
}

// Cells of an image that a map of each image's own names, as a sampled grid: an update walks its few cells, also where
// the map may be of fewer images than there are, and terms of a cell's place are not stored for all places.
TEST(index_digits, of_sampled_images) {
  constexpr auto m = axis<"m">;
  constexpr auto image = tensor<"image", float, 3>;
  constexpr auto map = tensor<"map", float, 2>;
  constexpr auto down = map(m, 0_c) * cast<float>(i) + map(m, 1_c) * cast<float>(j);
  constexpr auto along = map(m, 1_c) * cast<float>(j);
  constexpr auto weight =
      1_c - abs(down - floor(down) - cast<float>(p)) + 2_c * (along - floor(along)) * cast<float>(q);
  constexpr auto read =
      image.padded(0_c)(m, cast<std::int64_t>(floor(down)) + p, cast<std::int64_t>(floor(along)) + q);
  constexpr auto sampled = define<"sampled">(m, i.in(0_c, extent(image, dim<1>)), j.in(0_c, extent(image, dim<2>))) =
      sum(over(p.in(0_c, 2_c), q.in(0_c, 2_c)), read * weight);
  constexpr auto loss =
      define<"loss">() = sum(over(m, i.in(0_c, extent(image, dim<1>)), j.in(0_c, extent(image, dim<2>))),
                             sampled(m, i, j) * sampled(m, i, j));
  for (const std::int64_t n : {1, 2, 5, 20})
    for (const std::int64_t maps : {1, 3}) right({{"image", {3, n, n + 1}}, {"map", {maps, 2}}}, grad(loss, image));
  trial test(detail::build_graph<decltype(grad(loss, image))>());
  test.random("image", {3, 40, 40}).random("map", {3, 2}).make();
  EXPECT_FALSE(has(test.plan_text(), "range scatter")) << test.plan_text();
}

// The bit of an index, as where a gate of two states meets a register of many: a digit of a digit.
TEST(index_digits, of_digits) {
  constexpr auto bit = quotient(i, 4_c) % 2_c;
  constexpr auto z = define<"z">(i.in(0_c, quotient(extent(row, dim<0>), 8_c) * 8_c)) =
      row(i - bit * 4_c) * cast<double>(bit + 1_c) + row(i - bit * 4_c + 4_c);
  constexpr auto loss = define<"loss">() = sum(i, z(i) * z(i));
  for (const std::int64_t n : {0, 1, 7, 8, 9, 64, 500}) {
    const std::string plan = right({{"row", {n}}}, grad(loss, row));
    if (n == 500) expect_solved(plan);
  }
}

// Of no digits: what many iterations would ask stays a scatter.
TEST(index_digits, of_what_is_left_a_scatter) {
  constexpr auto all = i.in(0_c, extent(row, dim<0>));
  constexpr auto z = define<"z">(all) = row(i - quotient(i, 6_c) % 3_c);
  constexpr auto loss = define<"loss">() = sum(all, z(i) * z(i));
  for (const std::int64_t n : {1, 7, 18, 500}) right({{"row", {n}}}, grad(loss, row));
}

}  // namespace
}  // namespace sheaf::test::index_digits_tests
