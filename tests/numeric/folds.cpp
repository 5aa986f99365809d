// Monoids of the program's own, in every place where a reduction may stand.
#include <support/both.hpp>

namespace {
using namespace sheaf;
using namespace sheaf::test;

constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto x = tensor<"x", double, 1>;
constexpr auto m = tensor<"m", double, 2>;
constexpr auto f = tensor<"f", float, 1>;
constexpr auto n = tensor<"n", std::int32_t, 1>;
constexpr auto cut = tensor<"cut", std::int64_t, 2>;

constexpr auto hypotenuse = own_monoid<"hypotenuse">(0_c, [](auto a, auto b) {
                              return sqrt(a * a + b * b);
                            }).adjoint([](auto element, auto result) { return element / result; });
// log(exp(a) + exp(b)) without overflow.
constexpr auto smooth_max = own_monoid<"smooth_max">(constant<-1e300>, [](auto a, auto b) {
                              return maximum(a, b) + log1p(exp(-abs(a - b)));
                            }).adjoint([](auto element, auto result) { return exp(element - result); });
constexpr auto largest_size = own_monoid<"largest_size">(
    0_c, [](auto a, auto b) { return select(abs(b) < abs(a), a, select(abs(a) < abs(b), b, maximum(a, b))); });

template <int Rank>
std::vector<double> numbers(const array<double, Rank>& a) {
  return std::vector<double>(a.begin(), a.end());
}
using list_of = std::vector<double>;

TEST(fold, of_a_vector) {
  EXPECT_DOUBLE_EQ(both(fold(hypotenuse, i, x(i)))(x = list<double>({2, 3, 6})), 7);
  EXPECT_EQ(both(fold(largest_size, i, x(i)))(x = list<double>({2, -9, 3, -1, 5, 9, 1, -9, 8})), 9);
  EXPECT_EQ(both(fold(hypotenuse, i, x(i)))(x = array<double, 1>(0)), 0);
}
// Long enough for lanes, tails and tasks of several threads.
TEST(fold, of_many_elements) {
  for (const std::int64_t size : {1, 7, 64, 1001, 300000}) {
    const array<float, 1> values = noise_array<float>(-1, 1, size);
    double squares = 0;
    for (const float v : values) squares += double{v} * v;
    const float found = compile(fold(hypotenuse, i, f(i)))(f = values);
    EXPECT_NEAR(found, std::sqrt(squares), 1e-4 * std::sqrt(squares)) << size;
  }
}
TEST(fold, over_rows_columns_and_both) {
  const array<double, 2> grid = noise_array<double>(-2, 2, 37, 53);
  constexpr auto rows = define<"rows">(i) = fold(smooth_max, j, m(i, j));
  constexpr auto columns = define<"columns">(j) = fold(smooth_max, i, m(i, j));
  constexpr auto expected = define<"expected">(j) = logsumexp(i, m(i, j));
  const auto [r, c, e, all, whole] =
      both(rows, columns, expected, fold(smooth_max, over(i, j), m(i, j)), logsumexp(over(i, j), m(i, j)))
          .rounds(256)(m = grid);
  for (std::int64_t k = 0; k < 53; ++k) EXPECT_NEAR(c(k), e(k), 1e-13);
  EXPECT_NEAR(all(), whole(), 1e-12);
}
TEST(fold, in_domains) {
  const array<std::int64_t, 2> bounds = filled(array<std::int64_t, 2>(3, 2), {0, 2, 1, 1, 1, 4});
  constexpr auto y = define<"y">(j) = fold(hypotenuse, i.in(cut(j, 0_c), cut(j, 1_c)).where(x(i) > 0_c), x(i));
  EXPECT_EQ(numbers(both(y)(x = list<double>({3, 4, -7, 3}), cut = bounds)), (list_of{5, 0, 5}));
}
// Running and sliding: the planner's scans and windows fold with any monoid.
TEST(fold, running_and_sliding) {
  constexpr auto s = axis<"s">;
  constexpr auto running = define<"running">(i) = fold(hypotenuse, s.in(0_c, i + 1_c), x(s)) + 0_c * x(i);
  constexpr auto rest = define<"rest">(i) = fold(smooth_max, s.in(i, extent(x, dim<0>)), x(s)) + 0_c * x(i);
  constexpr auto window = define<"window">(i) =
      fold(hypotenuse, s.in(maximum(i - 20_c, 0_c), i + 1_c), x(s)) + 0_c * x(i);
  const array<double, 1> values = noise_array<double>(-1, 1, 2000);
  const auto [a, b, c] = both(running, rest, window).rounds(4096)(x = values);
  double squares = 0;
  for (std::int64_t k = 0; k < 2000; ++k) {
    squares += values(k) * values(k);
    ASSERT_NEAR(a(k), std::sqrt(squares), 1e-11) << k;
  }
}
TEST(fold, of_integers_and_halves) {
  constexpr auto either = own_monoid<"either">(0_c, [](auto a, auto b) { return maximum(a, b) * 2_c - maximum(a, b); });
  const auto y = both(fold(either, i, n(i)))(n = list<std::int32_t>({3, 9, 4}));
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(y)>, array<std::int64_t, 0>>);
  EXPECT_EQ(y, 9);
  constexpr auto h = tensor<"h", float16, 1>;
  EXPECT_EQ(to_double(both(fold(hypotenuse, i, h(i)))(h = list<float16>({3, 4}))()), 5);
}
// One monoid over two element types in one program, and two of one name's worth.
TEST(fold, several_in_one_program) {
  const auto [a, b, c] = both(fold(hypotenuse, i, x(i)), fold(hypotenuse, j, f(j)), fold(smooth_max, i, x(i)))(
      x = list<double>({3, 4}), f = list<float>({5, 12}));
  EXPECT_EQ(a, 5);
  EXPECT_EQ(b, 13);
  EXPECT_NEAR(c(), 4 + std::log1p(std::exp(-1.0)), 1e-14);
}
TEST(fold, gradients) {
  const auto [dx, dl] = both(grad(fold(hypotenuse, i, x(i)), x), jvp(fold(hypotenuse, i, x(i)), x))(
      x = list<double>({2, 3, 6}), tangent(x) = list<double>({1, 0, 1}));
  EXPECT_DOUBLE_EQ(dx(1), 3.0 / 7);
  EXPECT_DOUBLE_EQ(dl(), 8.0 / 7);
  // Softmax, and its derivative along ones: zero, for softmax does not see a shift.
  constexpr auto soft = define<"soft">() = fold(smooth_max, i, x(i));
  const auto [s, h] =
      both(grad(soft, x), jvp(grad(soft, x), x))(x = list<double>({0, 1, 2}), tangent(x) = list<double>({1, 1, 1}));
  EXPECT_NEAR(s(2), std::exp(2) / (1 + std::exp(1) + std::exp(2)), 1e-14);
  for (const double v : h) EXPECT_NEAR(v, 0, 1e-14);
}
TEST(fold, printed_by_its_name) {
  const auto p = compile(fold(hypotenuse, i, x(i)));
  EXPECT_NE(std::string(p.text()).find("y = fold(hypotenuse, i, x(i))"), std::string::npos) << p.text();
}

}  // namespace
