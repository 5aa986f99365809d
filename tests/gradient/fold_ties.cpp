// Folds whose combination has a kink, at equal elements: the derivative is that of the elements in their order, the
// first a little larger, so that it is right wherever the whole is smooth.
#include <gtest/gtest.h>

#include <cmath>

#include <sheaf/text.hpp>

namespace sheaf::test {
namespace {

constexpr const char* scaled =
    "monoid scaled((m, s), (n, t)) = tuple(maximum(m, n), s * exp(m - maximum(m, n)) + t * exp(n - maximum(m, n))) "
    "identity tuple(-1000, 0)\n";
// In other words, by which the same falls on the other side of its kinks.
constexpr const char* soft = "monoid soft(a, b) = maximum(a, b) + log1p(exp(-abs(b - a))) identity -1000\n";
constexpr const char* range =
    "monoid range((a, b), (c, d)) = tuple(minimum(a, c), maximum(b, d)) identity tuple(9, -9)\n";
constexpr const char* larger = "monoid larger(a, b) = select(a < b, b, a) identity -1000\n";
constexpr const char* latest =
    "monoid latest((a, b), (c, d)) = tuple(maximum(a, c), select(c >= a, d, b)) identity tuple(-1000, 0) in_order\n";

array<double, 1> numbers(std::initializer_list<double> values) {
  array<double, 1> a(static_cast<std::int64_t>(values.size()));
  std::copy(values.begin(), values.end(), a.begin());
  return a;
}
// What lines about the inputs x and v make, one output.
array<double, 1> made(const std::string& lines, const array<double, 1>& x, const array<double, 1>& v) {
  const text_program p("input x: f64[?]\ninput v: f64[?]\n" + lines);
  const auto results = p({{"x", x}, {"v", v}});
  const auto first = results[0].as<double, 1>();
  array<double, 1> copy(first.extent(0));
  for (std::int64_t k = 0; k < copy.size(); ++k) copy(k) = first(k);
  return copy;
}
void expect_numbers(const array<double, 1>& found, std::initializer_list<double> expected) {
  ASSERT_EQ(found.size(), static_cast<std::int64_t>(expected.size()));
  for (std::int64_t k = 0; k < found.size(); ++k) EXPECT_NEAR(found(k), expected.begin()[k], 1e-12) << k;
}

const array<double, 1> values = numbers({1, 3, 3, 2, 3}), along = numbers({2, 4, 1, -1, 0.5});

TEST(fold_ties, the_first_of_equals_has_it_whole) {
  expect_numbers(made(std::string(scaled) + "y = get<0>(fold(scaled, i, tuple(x(i), v(i))))\noutput grad(y, x)", values,
                      along),
                 {0, 1, 0, 0, 0});
  expect_numbers(made(std::string(latest) + "y = get<0>(fold(latest, i, tuple(x(i), v(i))))\noutput grad(y, x)", values,
                      along),
                 {0, 1, 0, 0, 0});
  expect_numbers(made(std::string(larger) + "y = fold(larger, i, x(i))\noutput grad(y, x)", values, along),
                 {0, 1, 0, 0, 0});
  expect_numbers(made(std::string(latest) + "y = get<1>(fold(latest, i, tuple(x(i), v(i))))\noutput grad(y, v)", values,
                      along),
                 {0, 0, 0, 0, 1});
}

// One element again and again: any share would do, as long as the shares are one.
TEST(fold_ties, shares_of_one_element_are_one) {
  for (const char* element : {"tuple(x(k), 1)", "tuple(1 * x(k), v(k))"})
    for (const char* monoid : {"scaled", "latest"}) {
      const std::string lines = std::string(monoid == std::string("scaled") ? scaled : latest) +
                                "y(k) = get<0>(fold(" + monoid + ", i.in(0, 7), " + element + "))\n";
      expect_numbers(made(lines + "z = sum(k, y(k))\noutput grad(z, x)", values, along), {1, 1, 1, 1, 1});
      expect_numbers(made(lines + "output jvp(y, x, v)", values, along), {2, 4, 1, -1, 0.5});
    }
}

// The least and the largest of two equals: their sum is that of both.
TEST(fold_ties, all_kinks_take_the_same_side) {
  const std::string lines = std::string(range) + "l = get<0>(fold(range, i, tuple(x(i), x(i))))\n"
                            "h = get<1>(fold(range, i, tuple(x(i), x(i))))\ny = l + h\n";
  expect_numbers(made(lines + "output grad(y, x)", numbers({3, 3}), numbers({1, 1})), {1, 1});
}

// Smooth as a whole: log of the sum of exponentials. Its derivatives are shares p, and p (v - sum of p v) along v.
TEST(fold_ties, what_is_smooth_has_its_derivatives) {
  const std::string pair =
      std::string(scaled) +
      "y = get<0>(fold(scaled, i, tuple(x(i), 1))) + log(get<1>(fold(scaled, i, tuple(x(i), 1))))\n";
  double sum = 0, mean = 0, p[5];
  for (std::int64_t k = 0; k < 5; ++k) sum += std::exp(values(k));
  for (std::int64_t k = 0; k < 5; ++k) mean += (p[k] = std::exp(values(k)) / sum) * along(k);
  for (const std::string& lines : {pair, std::string(soft) + "y = fold(soft, i, x(i))\n"}) {
    expect_numbers(made(lines + "output grad(y, x)", values, along), {p[0], p[1], p[2], p[3], p[4]});
    for (const char* second : {"output jvp(grad(y, x), x, v)", "z = sum(i, grad(y, x)(i) * v(i))\noutput grad(z, x)",
                               "output grad(jvp(y, x, v), x)"}) {
      const array<double, 1> found = made(lines + second, values, along);
      for (std::int64_t k = 0; k < 5; ++k) EXPECT_NEAR(found(k), p[k] * (along(k) - mean), 1e-12) << lines << second;
    }
  }
}
// The same of places so far, and of slices that data makes.
TEST(fold_ties, of_running_folds_and_slices) {
  const std::string bounds = "i.in(cast<i64>(x(k)) - 1, cast<i64>(x(k)) + 2)", running = "i.in(0, k + 1)";
  for (const std::string& over : {bounds, running}) {
    const std::string pair = "fold(scaled, " + over + ", tuple(v(i), 1))";
    const std::string one = std::string(scaled) + "a(k) = get<0>(" + pair + ") + log(get<1>(" + pair +
                            ")) + 0 * x(k)\nz = sum(k, a(k) * x(k))\n";
    const std::string known = "a(k) = logsumexp(" + over + ", v(i)) + 0 * x(k)\nz = sum(k, a(k) * x(k))\n";
    for (const char* of : {"output grad(z, v)", "y = sum(k, grad(z, v)(k) * x(k))\noutput grad(y, v)"}) {
      const array<double, 1> equals = numbers({2, 2, 1, 2, 2});
      const array<double, 1> found = made(one + of, values, equals), expected = made(known + of, values, equals);
      for (std::int64_t k = 0; k < 5; ++k) EXPECT_NEAR(found(k), expected(k), 1e-12) << over << of << k;
    }
  }
}

}  // namespace
}  // namespace sheaf::test
