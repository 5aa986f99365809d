// Gradients through the surface: against plain formulas, and against central differences of the reference in f64.
#include <support/both.hpp>

namespace {
using namespace sheaf;
using namespace sheaf::test;

constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto k = axis<"k">;
constexpr auto o = axis<"o">;
constexpr auto t = axis<"t">;
constexpr auto x = tensor<"x", double, 2>;
constexpr auto v = tensor<"v", double, 1>;
constexpr auto w = tensor<"w", double, 2>;
constexpr auto cut = tensor<"cut", std::int64_t, 2>;
constexpr auto pick = tensor<"pick", std::int64_t, 2>;

// d loss / d symbol at `at`, against (loss(at + h) - loss(at - h)) / 2h. The error of the difference is about h^2 times
// the third derivative plus 1e-16 / h: below 1e-8 for h = 1e-5 and functions of size 1.
template <class Loss, class Symbol, int Rank, class... B>
void check_differences(Loss loss, Symbol symbol, array<double, Rank> at, B&&... others) {
  const auto found = both(grad(loss, symbol)).rounds(4096)(symbol = at, others...);
  const auto value = reference(loss);
  for (std::int64_t n = 0; n < at.size(); ++n) {
    const double here = at.data()[n], h = 1e-5;
    at.data()[n] = here + h;
    const double above = value(symbol = at, others...);
    at.data()[n] = here - h;
    const double below = value(symbol = at, others...);
    at.data()[n] = here;
    const double expected = (above - below) / (2 * h);
    EXPECT_NEAR(found.data()[n], expected, 1e-7 * std::max(1.0, std::abs(expected))) << "element " << n;
  }
}

array<std::int64_t, 2> slices(std::initializer_list<double> ends) {
  return filled(array<std::int64_t, 2>(static_cast<std::int64_t>(ends.size() / 2), 2), ends);
}

// PATTERNS A4: rows outside every slice get 0, bitwise; row 4 is covered by slices of length 2, 7 and 4.
TEST(gradient, of_a_slice_mean) {
  constexpr auto pooled = define<"pooled">(i, j) = mean(t.in(cut(i, 0_c), cut(i, 1_c)), x(t, j));
  array<double, 2> ones(4, 4);
  ones.fill(1);
  const auto values = noise_array<double>(-1, 1, 10, 4);
  const auto dx = both(vjp(pooled, x))(x = values, cut = slices({3, 5, 1, 8, 4, 8, 6, 9}), cotangent(pooled) = ones);
  for (int c = 0; c < 4; ++c) {
    EXPECT_TRUE(dx(0, c) == 0 && !std::signbit(dx(0, c)));
    EXPECT_TRUE(dx(9, c) == 0 && !std::signbit(dx(9, c)));
    EXPECT_NEAR(dx(4, c), 1.0 / 2 + 1.0 / 7 + 1.0 / 4, 1e-15);
    EXPECT_NEAR(dx(8, c), 1.0 / 3, 1e-15);
  }
  constexpr auto loss = define<"loss">() = sum(over(i, j), pooled(i, j) * pooled(i, j) * sin(pooled(i, j)));
  check_differences(loss, x, values, cut = slices({3, 5, 1, 8, 4, 8, 6, 9}));
  check_differences(loss, x, values, cut = slices({0, 1, 9, 10, 2, 4, 2, 4}));
}

TEST(gradient, of_a_gather_mean_counts_each_use) {
  constexpr auto pooled = define<"pooled">(i, j) = mean(k, x(pick(i, k), j));
  constexpr auto loss = define<"loss">() = sum(over(i, j), exp(pooled(i, j)) * (i + 1_c));
  const auto picks = filled(array<std::int64_t, 2>(2, 3), {1, 1, 4, 0, 4, 4});
  const auto values = noise_array<double>(-1, 1, 6, 3);
  check_differences(loss, x, values, pick = picks);
  const auto dx = both(grad(loss, x))(x = values, pick = picks);
  for (const int row : {2, 3, 5})
    for (int c = 0; c < 3; ++c) EXPECT_TRUE(dx(row, c) == 0 && !std::signbit(dx(row, c)));
}

TEST(gradient, of_softmax_and_layer_norm) {
  constexpr auto centre = define<"centre">(i) = mean(j, x(i, j));
  constexpr auto spread = define<"spread">(i) = mean(j, (x(i, j) - centre(i)) * (x(i, j) - centre(i)));
  constexpr auto normal = define<"normal">(i, j) = (x(i, j) - centre(i)) * rsqrt(spread(i) + 1e-5_c) * v(j);
  constexpr auto soft = define<"soft">(i, j) = exp(normal(i, j) - logsumexp(o, normal(i, o)));
  constexpr auto loss = define<"loss">() = sum(over(i, j), soft(i, j) * soft(i, j) * w(i, j));
  const auto a = noise_array<double>(-1, 1, 3, 5), b = noise_array<double>(-1, 2, 3, 5);
  const auto scale = noise_array<double>(0.5, 1.5, 5);
  check_differences(loss, x, a, v = scale, w = b);
  check_differences(loss, v, scale, x = a, w = b);
  check_differences(loss, w, b, x = a, v = scale);
  // The softmax alone has the formula s * (dy - sum(s * dy)).
  constexpr auto plain = define<"plain">(i, j) = exp(x(i, j) - logsumexp(o, x(i, o)));
  const auto [s, dx] = both(plain, vjp(plain, x))(x = a, cotangent(plain) = b);
  for (int r = 0; r < 3; ++r) {
    double dot = 0;
    for (int c = 0; c < 5; ++c) dot += s(r, c) * b(r, c);
    for (int c = 0; c < 5; ++c) EXPECT_NEAR(dx(r, c), s(r, c) * (b(r, c) - dot), 1e-14);
  }
}

// A definition that does not depend on one of its indices: each of its elements counts.
TEST(gradient, of_a_definition_that_repeats_itself) {
  constexpr auto five = axis<"five", 5>;
  constexpr auto same = define<"same">(five) = sum(i, v(i) * v(i));
  constexpr auto loss = define<"loss">() = sum(five, same(five));
  const auto [y, d] = both(loss, grad(loss, v))(v = list<double>({1, 2, 3}));
  EXPECT_EQ(y, 70.0);
  for (int e = 0; e < 3; ++e) EXPECT_EQ(d(e), 10 * (e + 1));
}

TEST(gradient, of_a_matrix_product_with_cotangents) {
  constexpr auto product = define<"product">(i, k) = sum(j, x(i, j) * w(j, k));
  const auto a = noise_array<double>(-1, 1, 4, 5), b = noise_array<double>(-1, 1, 5, 3),
             dy = noise_array<double>(-2, 1, 4, 3);
  const auto [dx, dw] = both(vjp(product, x), vjp(product, w))(x = a, w = b, cotangent(product) = dy);
  for (int r = 0; r < 4; ++r)
    for (int c = 0; c < 5; ++c) {
      double expected = 0;
      for (int n = 0; n < 3; ++n) expected += dy(r, n) * b(c, n);
      EXPECT_NEAR(dx(r, c), expected, 1e-14);
    }
  for (int r = 0; r < 5; ++r)
    for (int c = 0; c < 3; ++c) {
      double expected = 0;
      for (int n = 0; n < 4; ++n) expected += a(n, r) * dy(n, c);
      EXPECT_NEAR(dw(r, c), expected, 1e-14);
    }
}

TEST(gradient, of_max_shares_ties_evenly) {
  const auto dv = both(grad(define<"y">() = max(i, v(i)), v))(v = list<double>({1, 3, 3, 2, 3}));
  const double expected[] = {0, 1.0 / 3, 1.0 / 3, 0, 1.0 / 3};
  for (int n = 0; n < 5; ++n) EXPECT_NEAR(dv(n), expected[n], 1e-16);
  const auto dm = both(grad(define<"y">() = sum(i, maximum(v(i), 2_c)), v))(v = list<double>({1, 2, 3}));
  EXPECT_EQ(dm(0), 0);
  EXPECT_EQ(dm(1), 0.5);
  EXPECT_EQ(dm(2), 1);
  constexpr auto loss = define<"loss">() = sum(i, max(j, x(i, j)) * min(j, x(i, j)));
  check_differences(loss, x, noise_array<double>(-1, 1, 3, 4));
}

TEST(gradient, of_prod_with_zeros) {
  constexpr auto y = define<"y">() = prod(i, v(i));
  const auto program = both(grad(y, v));
  const auto none = program(v = list<double>({2, 3, 4})), one = program(v = list<double>({2, 0, 4})),
             two = program(v = list<double>({0, 3, 0}));
  const double expected[3][3] = {{12, 8, 6}, {0, 8, 0}, {0, 0, 0}};
  for (int n = 0; n < 3; ++n) {
    EXPECT_EQ(none(n), expected[0][n]);
    EXPECT_EQ(one(n), expected[1][n]);
    EXPECT_EQ(two(n), expected[2][n]);
  }
}

TEST(gradient, of_elementwise_functions) {
  const auto at = noise_array<double>(0.2, 0.9, 7);
#define SHEAF_CHECK(e) check_differences(define<"loss">() = sum(i, (e) * (i + 1_c)), v, at)
  SHEAF_CHECK(exp(v(i)));
  SHEAF_CHECK(log(v(i)));
  SHEAF_CHECK(log1p(v(i)) + expm1(v(i)));
  SHEAF_CHECK(sqrt(v(i)) * rsqrt(v(i) + 1_c));
  SHEAF_CHECK(tanh(v(i)) / sigmoid(v(i)));
  SHEAF_CHECK(erf(v(i)) - sin(v(i)) * cos(v(i)));
  SHEAF_CHECK(abs(v(i) - 0.5_c));
  SHEAF_CHECK(pow(v(i), 2.5_c) + pow(constant<1.5>, v(i)) + pow(v(i), v(i)));
  SHEAF_CHECK(minimum(v(i), 0.5_c) * maximum(v(i), 1_c - v(i)));
  SHEAF_CHECK(select(v(i) < 0.5_c, v(i) * v(i), 1_c / v(i)));
  SHEAF_CHECK(remainder(v(i), 0.3_c) * -v(i));
#undef SHEAF_CHECK
}

TEST(gradient, through_masks_windows_and_padding) {
  const auto at = noise_array<double>(-1, 1, 8);
  check_differences(define<"loss">() = sum(i.where(v(i) > 0_c), v(i) * v(i) * v(i)), v, at);
  check_differences(define<"loss">() = sum(over(i.in(0_c, 4_c), t.in(0_c, 3_c)), sin(v(2_c * i + t) * (t + 1_c))), v,
                    noise_array<double>(-1, 1, 9));
  constexpr auto n = axis<"n", 10>;
  check_differences(define<"loss">() = sum(n, v.padded(0_c)(n - 1_c) * v.padded(1_c)(n - 2_c)), v, at);
  check_differences(
      define<"loss">() = logsumexp(t.in(0_c, 8_c, 3_c), v(t)) + mean(t.in(1_c, 8_c).where(t % 2_c == 1_c), v(t) * v(t)),
      v, at);
  constexpr auto running = define<"running">(t) = sum(i.in(0_c, t + 1_c), v(i)) + 0_c * v(t);
  check_differences(define<"loss">() = sum(t, running(t) * running(t)), v, at);
}

TEST(gradient, through_data_subscripts_of_definitions) {
  constexpr auto square = define<"square">(i) = v(i) * v(i);
  constexpr auto chosen = define<"chosen">(i, k) = square(pick(i, k)) * v(k + 1_c);
  constexpr auto loss = define<"loss">() = sum(over(i, k), chosen(i, k)) + square(2_c);
  check_differences(loss, v, noise_array<double>(-1, 1, 5),
                    pick = filled(array<std::int64_t, 2>(3, 2), {4, 0, 4, 4, 1, 2}));
}

TEST(gradient, of_one_element_among_others) {
  const auto values = list<double>({1, 2, 3, 4});
  const auto twice = both(grad(define<"y">() = 2_c * v(2_c) + sum(i, v(i)), v))(v = values);
  const auto thrice = both(grad(define<"y">() = 3_c * v(2_c) + sum(i, v(i)), v))(v = values);
  for (int n = 0; n < 4; ++n) {
    EXPECT_EQ(twice(n), n == 2 ? 3 : 1);
    EXPECT_EQ(thrice(n), n == 2 ? 4 : 1);
  }
}

TEST(gradient, with_respect_to_a_definition) {
  constexpr auto hidden = define<"hidden">(i) = sum(j, x(i, j));
  constexpr auto loss = define<"loss">() = sum(i, hidden(i) * hidden(i) * hidden(i));
  const auto values = noise_array<double>(-1, 1, 3, 4);
  const auto [h, dh, dx] = both(hidden, grad(loss, hidden), grad(loss, x))(x = values);
  for (int r = 0; r < 3; ++r) {
    EXPECT_NEAR(dh(r), 3 * h(r) * h(r), 1e-14);
    for (int c = 0; c < 4; ++c) EXPECT_NEAR(dx(r, c), dh(r), 1e-14);
  }
}

TEST(gradient, of_a_gradient) {
  constexpr auto cubes = define<"cubes">() = sum(i, v(i) * v(i) * v(i));
  constexpr auto first = grad(cubes, v);
  constexpr auto along = define<"along">() = sum(i, first(i) * first(i));
  const auto values = noise_array<double>(-1, 1, 5);
  const auto second = both(grad(along, v))(v = values);
  for (int n = 0; n < 5; ++n) EXPECT_NEAR(second(n), 36 * std::pow(values(n), 3), 1e-13);
  constexpr auto soft = define<"soft">() = logsumexp(i, v(i) * v(i));
  constexpr auto slope = grad(soft, v);
  check_differences(define<"bent">() = sum(i, slope(i) * slope(i) * (i + 1_c)), v, values);
}

TEST(gradient, value_and_grad_and_expressions) {
  const auto values = list<double>({1, 2, 3});
  const auto [y, dv] = both(value_and_grad(sum(i, v(i) * v(i)), v))(v = values);
  EXPECT_EQ(y(), 14);
  EXPECT_EQ(dv(2), 6);
}

TEST(gradient, stops_where_asked) {
  const auto dv = both(grad(define<"y">() = sum(i, stop_gradient(v(i)) * v(i)), v))(v = list<double>({1, 2, 3}));
  for (int n = 0; n < 3; ++n) EXPECT_EQ(dv(n), n + 1);
}

TEST(gradient, in_narrow_types_and_empty_extents) {
  constexpr auto h = tensor<"h", float16, 1>;
  constexpr auto mean_square = define<"mean_square">() = mean(i, h(i) * h(i));
  const auto dh = both(grad(mean_square, h)).rounds(8)(h = list<float16>({1, 2, -4, 0.5}));
  static_assert(std::is_same_v<decltype(dh), const array<float16, 1>>);
  EXPECT_EQ(to_double(dh(2)), -2);
  EXPECT_EQ(both(grad(mean_square, h))(h = array<float16, 1>(0)).size(), 0);
}

// An integer index may be anything the data says: the gradient of x sums over all of them, in a fixed order.
TEST(gradient, scatters_the_same_bits_every_time) {
  constexpr auto rows = tensor<"rows", float, 2>;
  constexpr auto loss = define<"loss">() = sum(over(i, k, j), exp(rows(pick(i, k), j)) * (k + 1_c));
  const auto values = noise_array<float>(-1, 1, 50, 19);
  array<std::int64_t, 2> picks(400, 7);
  for (int n = 0; n < picks.size(); ++n) picks.data()[n] = (n * n * 31 + n) % 49;
  const auto program = both(grad(loss, rows)).rounds(4096);
  const auto once = program(rows = values, pick = picks);
  for (int again = 0; again < 3; ++again) EXPECT_TRUE(same_bits(once, program.kernels()(rows = values, pick = picks)));
  for (int c = 0; c < 19; ++c) EXPECT_EQ(once(49, c), 0);  // never read
}

}  // namespace
