// Every reduction, for every element type and over each axis of a matrix, against plain loops.
#include <support/both.hpp>

namespace {
using namespace sheaf;
using namespace sheaf::test;

constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr int rows = 13, columns = 21;

template <class T>
array<T, 2> matrix() {
  const bool real = unit_of<T>() > 0;
  array<T, 2> x = noise_array<T>(real ? -2 : std::is_signed_v<T> ? -50 : 0, real ? 2 : 100, rows, columns);
  if constexpr (std::is_same_v<T, bool>)
    for (int k = 0; k < x.size(); ++k) x.data()[k] = k % 3 != 0;
  return x;
}

template <class T>
using wide_of = std::conditional_t<(unit_of<T>() > 0), T, std::int64_t>;

// A fold of x's numbers in f64 along one axis.
template <class T, class Fold>
std::vector<double> folded(const array<T, 2>& x, int along, double start, Fold fold) {
  std::vector<double> out(along == 0 ? columns : rows, start);
  for (int a = 0; a < rows; ++a)
    for (int b = 0; b < columns; ++b) {
      double& to = out[static_cast<std::size_t>(along == 0 ? b : a)];
      to = fold(to, number_of(x(a, b)), along == 0 ? a : b);
    }
  return out;
}

template <class T>
void expect_values(const array<T, 1>& found, const std::vector<double>& expected, double rounds, const char* what) {
  ASSERT_EQ(found.extent(0), static_cast<std::int64_t>(expected.size()));
  for (std::size_t k = 0; k < expected.size(); ++k)
    EXPECT_TRUE(agree(found(static_cast<int>(k)), value_of<T>(expected[k]), rounds))
        << what << "[" << k << "]: " << number_of(found(static_cast<int>(k))) << ", expected " << expected[k];
}

template <class T>
class reductions : public testing::Test {};
using all_types =
    testing::Types<double, float, float16, bfloat16, std::int64_t, std::int32_t, std::int8_t, std::uint8_t,
                   std::int16_t, std::uint16_t, std::uint32_t, std::uint64_t, bool>;
TYPED_TEST_SUITE(reductions, all_types);

TYPED_TEST(reductions, sum_max_min_along_each_axis) {
  using T = TypeParam;
  constexpr auto x = tensor<"x", T, 2>;
  constexpr auto sum0 = define<"sum0">(j) = sum(i, x(i, j));
  constexpr auto sum1 = define<"sum1">(i) = sum(j, x(i, j));
  constexpr auto max0 = define<"max0">(j) = max(i, x(i, j));
  constexpr auto max1 = define<"max1">(i) = max(j, x(i, j));
  constexpr auto min0 = define<"min0">(j) = min(i, x(i, j));
  constexpr auto min1 = define<"min1">(i) = min(j, x(i, j));
  const array<T, 2> values = matrix<T>();
  const auto [s0, s1, h0, h1, l0, l1] = both(sum0, sum1, max0, max1, min0, min1).rounds(64)(x = values);
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(s0)>, array<wide_of<T>, 1>>);
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(h0)>, array<T, 1>>);
  const auto add = [](double a, double b, int) { return a + b; };
  const auto high = [](double a, double b, int) { return std::max(a, b); };
  const auto low = [](double a, double b, int) { return std::min(a, b); };
  expect_values(s0, folded(values, 0, 0, add), 64, "sum over 0");
  expect_values(s1, folded(values, 1, 0, add), 64, "sum over 1");
  expect_values(h0, folded(values, 0, -1e300, high), 0, "max over 0");
  expect_values(h1, folded(values, 1, -1e300, high), 0, "max over 1");
  expect_values(l0, folded(values, 0, 1e300, low), 0, "min over 0");
  expect_values(l1, folded(values, 1, 1e300, low), 0, "min over 1");
}

TYPED_TEST(reductions, any_all_count_of_a_comparison) {
  using T = TypeParam;
  constexpr auto x = tensor<"x", T, 2>;
  constexpr auto any1 = define<"any1">(i) = any(j, cast<double>(x(i, j)) > 1.9_c);
  constexpr auto all0 = define<"all0">(j) = all(i, cast<double>(x(i, j)) > -1.8_c);
  constexpr auto count0 = define<"count0">(j) = count(i, cast<double>(x(i, j)) > 0_c);
  constexpr auto nonzero = define<"nonzero">(i) = count(j, x(i, j));
  const array<T, 2> values = matrix<T>();
  const auto [some, every, many, other] = both(any1, all0, count0, nonzero)(x = values);
  expect_values(some, folded(values, 1, 0, [](double a, double b, int) { return double(a != 0 || b > 1.9); }), 0,
                "any");
  expect_values(every, folded(values, 0, 1, [](double a, double b, int) { return double(a != 0 && b > -1.8); }), 0,
                "all");
  expect_values(many, folded(values, 0, 0, [](double a, double b, int) { return a + (b > 0); }), 0, "count");
  expect_values(other, folded(values, 1, 0, [](double a, double b, int) { return a + (b != 0); }), 0, "nonzero");
}

TYPED_TEST(reductions, argmax_and_argmin) {
  using T = TypeParam;
  constexpr auto x = tensor<"x", T, 2>;
  constexpr auto high0 = define<"high0">(j) = argmax(i, x(i, j));
  constexpr auto low1 = define<"low1">(i) = argmin(j, x(i, j));
  const array<T, 2> values = matrix<T>();
  const auto [high, low] = both(high0, low1)(x = values);
  for (int b = 0; b < columns; ++b) {
    int best = 0;
    for (int a = 1; a < rows; ++a)
      if (number_of(values(a, b)) > number_of(values(best, b))) best = a;
    EXPECT_EQ(high(b), best);
  }
  for (int a = 0; a < rows; ++a) {
    int best = 0;
    for (int b = 1; b < columns; ++b)
      if (number_of(values(a, b)) < number_of(values(a, best))) best = b;
    EXPECT_EQ(low(a), best);
  }
}

TYPED_TEST(reductions, of_everything_at_once) {
  using T = TypeParam;
  constexpr auto x = tensor<"x", T, 2>;
  const array<T, 2> values = matrix<T>();
  const auto [s, h, n] = both(define<"s">() = sum(over(i, j), x(i, j)), define<"h">() = max(over(i, j), x(i, j)),
                              define<"n">() = count(over(j, i), x(i, j)))
                             .rounds(512)(x = values);
  double total = 0, high = -1e300, nonzero = 0;
  for (const T v : values) total += number_of(v), high = std::max(high, number_of(v)), nonzero += number_of(v) != 0;
  EXPECT_TRUE(agree(s(), value_of<wide_of<T>>(total), 512)) << number_of(s()) << " " << total;
  EXPECT_EQ(number_of(h()), high);
  EXPECT_EQ(number_of(n()), nonzero);
}

template <class T>
class floating_reductions : public testing::Test {};
using floating_types = testing::Types<double, float, float16, bfloat16>;
TYPED_TEST_SUITE(floating_reductions, floating_types);

TYPED_TEST(floating_reductions, mean_prod_logsumexp) {
  using T = TypeParam;
  constexpr auto x = tensor<"x", T, 2>;
  constexpr auto mean0 = define<"mean0">(j) = mean(i, x(i, j));
  constexpr auto mean1 = define<"mean1">(i) = mean(j, x(i, j));
  constexpr auto prod1 = define<"prod1">(i) = prod(j, x(i, j));
  constexpr auto log0 = define<"log0">(j) = logsumexp(i, x(i, j));
  constexpr auto log1 = define<"log1">(i) = logsumexp(j, x(i, j));
  const array<T, 2> values = matrix<T>();
  const auto [m0, m1, p1, l0, l1] = both(mean0, mean1, prod1, log0, log1).rounds(64)(x = values);
  const auto add = [](double a, double b, int) { return a + b; };
  const auto grow = [](double a, double b, int) { return a + std::exp(b); };
  const auto each = [](std::vector<double> v, auto f) {
    for (double& e : v) e = f(e);
    return v;
  };
  expect_values(m0, each(folded(values, 0, 0, add), [](double v) { return v / rows; }), 64, "mean over 0");
  expect_values(m1, each(folded(values, 1, 0, add), [](double v) { return v / columns; }), 64, "mean over 1");
  expect_values(p1, folded(values, 1, 1, [](double a, double b, int) { return a * b; }), 64, "prod over 1");
  expect_values(l0, each(folded(values, 0, 0, grow), [](double v) { return std::log(v); }), 64, "logsumexp over 0");
  expect_values(l1, each(folded(values, 1, 0, grow), [](double v) { return std::log(v); }), 64, "logsumexp over 1");
}

// 2048 + 1 is 2048 in f16: a sum that rounded at each step would stop there.
TEST(halves, are_summed_wider_and_rounded_once) {
  constexpr auto x = tensor<"x", float16, 1>;
  array<float16, 1> ones(4096);
  ones.fill(to_float16(1));
  const auto [s, m] = both(define<"s">() = sum(i, x(i)), define<"m">() = mean(i, x(i)))(x = ones);
  EXPECT_EQ(to_double(s()), 4096);
  EXPECT_EQ(to_double(m()), 1);
  constexpr auto y = tensor<"y", bfloat16, 1>;
  array<bfloat16, 1> small(1000);
  small.fill(to_bfloat16(1));
  EXPECT_EQ(to_double(both(define<"s">() = sum(i, y(i)))(y = small)()), 1000);
}

// Integer products are i64, reductions nest, and one reduction may use another's result.
TEST(reductions_of_reductions, nest) {
  constexpr auto x = tensor<"x", std::int32_t, 2>;
  array<std::int32_t, 2> values(3, 4);
  for (int k = 0; k < 12; ++k) values.data()[k] = k + 1;
  constexpr auto products = define<"products">() = sum(i, prod(j, x(i, j)));
  constexpr auto highest = define<"highest">() = max(i, sum(j, x(i, j)));
  constexpr auto above = define<"above">(i) =
      count(j, x(i, j) * 12_c > sum(over(axis<"a">, axis<"b">), x(axis<"a">, axis<"b">)));
  const auto [p, h, a] = both(products, highest, above)(x = values);
  EXPECT_EQ(p(), 1 * 2 * 3 * 4 + 5 * 6 * 7 * 8 + 9 * 10 * 11 * 12);
  EXPECT_EQ(h(), 9 + 10 + 11 + 12);
  EXPECT_EQ(a(0), 0);
  EXPECT_EQ(a(1), 2);
  EXPECT_EQ(a(2), 4);
}

// Both folds walk the same rows, but only the first can do so in lanes: in the other each row has a loop of its own.
TEST(reductions_of_reductions, ragged_ones_beside_plain_ones) {
  constexpr auto t = axis<"t">;
  constexpr auto w = tensor<"w", float, 1>;
  constexpr auto x = tensor<"x", float, 1>;
  constexpr auto cut = tensor<"cut", std::int64_t, 2>;
  constexpr auto slice = sum(t.in(cut(i, 0_c), cut(i, 1_c)), x(t));
  constexpr auto total = define<"total">() = sum(i, w(i)) + sum(i.where(slice > 0_c), w(i));
  const std::int64_t ends[5][2] = {{0, 3}, {2, 2}, {1, 4}, {3, 4}, {0, 1}};
  const auto result = both(total)(w = list<float>({1, 2, 4, 8, 16}), x = list<float>({-1, 2, 3, -4}), cut = ends);
  EXPECT_EQ(result(), 31 + 1 + 4);
}

}  // namespace
