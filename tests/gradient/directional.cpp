// jvp, gradients of gradients and Hessian-vector products of each op and reduction, against central differences in f64.
#include <support/both.hpp>

namespace {
using namespace sheaf;
using namespace sheaf::test;

constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto k = axis<"k">;
constexpr auto u = axis<"u">;
constexpr auto x = tensor<"x", double, 1>;
constexpr auto v = tensor<"v", double, 1>;
constexpr auto w = tensor<"w", double, 1>;
constexpr auto pick = tensor<"pick", std::int64_t, 1>;
constexpr auto cut = tensor<"cut", std::int64_t, 2>;

constexpr double step = 1e-5;
// Of a central difference: step^2 / 6 times a third derivative of some hundreds, and rounding of 1e-16 / step.
constexpr double allowed = 1e-6;

array<double, 1> moved(const array<double, 1>& a, const array<double, 1>& along, double by) {
  array<double, 1> out(a.size());
  for (std::int64_t e = 0; e < a.size(); ++e) out(e) = a(e) + by * along(e);
  return out;
}
void expect_near(const array<double, 1>& found, const array<double, 1>& up, const array<double, 1>& down,
                 const char* what) {
  ASSERT_EQ(found.size(), up.size());
  for (std::int64_t e = 0; e < up.size(); ++e) {
    const double expected = (up(e) - down(e)) / (2 * step);
    EXPECT_NEAR(found(e), expected, allowed * std::max(1.0, std::abs(expected))) << what << ", element " << e;
  }
}
void expect_equal(const array<double, 1>& found, const array<double, 1>& expected, const char* what) {
  for (std::int64_t e = 0; e < expected.size(); ++e)
    EXPECT_NEAR(found(e), expected(e), 1e-12 * std::max(1.0, std::abs(expected(e)))) << what << ", element " << e;
}

// e: an expression in i over x, smooth around the values. Three routes to each derivative must meet: forward, reverse,
// differences; and the forward derivative of the gradient is the Hessian-vector product.
template <class E, class... More>
void check(E e, const array<double, 1>& at, const More&... more) {
  constexpr auto y = define<"y">(i) = E{};
  constexpr auto loss = define<"loss">() = sum(i, y(i) * y(i) * 0.5_c);
  constexpr auto slope = define<"slope">() = sum(j, grad(loss, x)(j) * v(j));
  const array<double, 1> along = noise_array<double>(-1, 1, at.size());
  const auto first = both(y, jvp(y, x, v), grad(loss, x), jvp(loss, x, v)).rounds(1024);
  const auto second = both(grad(slope, x), jvp(grad(loss, x), x, v)).rounds(1024);
  const auto [here, dy, dx, dl] = first(x = at, v = along, more...);
  const auto [up, dy1, dx1, dl1] = first(x = moved(at, along, step), v = along, more...);
  const auto [down, dy2, dx2, dl2] = first(x = moved(at, along, -step), v = along, more...);
  expect_near(dy, up, down, "jvp");
  double product = 0;
  for (std::int64_t p = 0; p < at.size(); ++p) product += dx(p) * along(p);
  EXPECT_NEAR(dl(), product, 1e-11 * std::max(1.0, std::abs(product)));
  const auto [hv, forward] = second(x = at, v = along, more...);
  expect_near(hv, dx1, dx2, "Hessian times vector");
  expect_equal(forward, hv, "forward over reverse");
  (void)e;
}

// Five values, not in order, none of them close to another.
array<double, 1> spread(double low, double high) {
  array<double, 1> out = list<double>({0.41, 0.93, 0.08, 0.62, 0.27});
  for (double& a : out) a = low + (high - low) * a;
  return out;
}

TEST(derivatives, of_elementwise_ops) {
  check(x(i) * x(i) * x(i) - 2_c * x(i), spread(-2, 2));
  check(x(i) / (3_c + x(i)), spread(-2, 2));
  check(exp(x(i)) + expm1(x(i) * 0.5_c), spread(-2, 1));
  check(log(x(i)) * log1p(x(i)), spread(0.5, 2));
  check(sqrt(x(i)) + rsqrt(x(i)), spread(0.5, 2));
  check(tanh(x(i)) * sigmoid(x(i)), spread(-2, 2));
  check(erf(x(i)) + sin(x(i)) * cos(x(i)), spread(-2, 2));
  check(abs(x(i)) * x(i) + sign(x(i)) * x(i), spread(-2, 1.5));
}
TEST(derivatives, of_ops_of_two) {
  check(pow(x(i), 3_c) + pow(x(i), x(i)) + pow(2_c, x(i)), spread(0.5, 2));
  check(maximum(x(i), 1_c) * minimum(x(i) * x(i), 2_c), spread(0.1, 2.2));
  check(remainder(x(i), 0.75_c) * x(i) + floor(x(i)) * x(i), spread(0.1, 2.2));
  check(select(x(i) < 1_c, exp(x(i)), log(x(i)) * x(i)), spread(0.1, 2.2));
}
TEST(derivatives, of_sums) {
  check(x(i) * sum(k, x(k) * x(k)) + mean(k, x(k)) * x(i), spread(-1, 1));
  check(x(i) * sum(k.where(k % 2_c == 0_c), exp(x(k))), spread(-1, 1));
  check(sum(k.in(0_c, i + 1_c), x(k) * x(i)) + 0_c * x(i), spread(-1, 1));
}
TEST(derivatives, of_products) {
  check(x(i) * prod(k, x(k)), spread(0.5, 2));
  check(x(i) + prod(k.where(k < i), x(k) * x(k)), spread(0.5, 2));
}
TEST(derivatives, of_products_with_zeros) {
  array<double, 1> at = spread(0.5, 2);
  for (const std::int64_t zero : {2, 4}) {
    at(zero) = 0;
    check(x(i) * prod(k, x(k)), at);
    check(x(i) + prod(k.where(k < i), x(k) + x(k) * x(k)), at);
    check(x(i) + prod(k.in(0_c, i + 1_c), x(k)), at);
  }
}
TEST(derivatives, of_extrema) {
  check(x(i) * max(k, x(k) * x(k)) + min(k, x(k)) * x(i), spread(-1, 1.3));
  check(x(i) * max<ties::first>(k, x(k) * x(k)) + min<ties::last>(k, x(k)) * x(i), spread(-1, 1.3));
  check(logsumexp(k, x(k) * x(i)) + x(i), spread(-1, 1));
}
TEST(derivatives, of_softmax_and_norms) {
  constexpr auto top = define<"top">() = max(k, x(k));
  check(exp(x(i) - top()) / sum(k, exp(x(k) - top())), spread(-1, 1));
  constexpr auto centre = define<"centre">() = mean(k, x(k));
  constexpr auto spread_of = define<"spread_of">() = mean(k, (x(k) - centre()) * (x(k) - centre()));
  check((x(i) - centre()) * rsqrt(spread_of() + 0.1_c), spread(-1, 1));
}
TEST(derivatives, of_gathers) {
  const std::vector<std::int64_t> ids = {3, 0, 3, 4, 1};
  check(x(pick(i)) * x(i) + sum(k, x(pick(k)) * x(pick(k))), spread(-1, 1), pick = ids);
  check(sum(k.where(pick(k) == i), x(k) * x(i)) + x(i), spread(-1, 1), pick = ids);
}
TEST(derivatives, of_ragged_slices) {
  const array<std::int64_t, 2> bounds = filled(array<std::int64_t, 2>(5, 2), {0, 3, 1, 5, 2, 2, 4, 5, 0, 5});
  constexpr auto in = k.in(cut(i, 0_c), cut(i, 1_c));
  check(x(i) * mean<empty::zero>(in, x(k) * x(k)), spread(-1, 1), cut = bounds);
  check(x(i) + max<empty::zero>(in, x(k) * x(k)), spread(-1, 1.3), cut = bounds);
  check(x(i) + sum(in, exp(x(k) * x(i))), spread(-1, 1), cut = bounds);
}
TEST(derivatives, of_moved_accesses) {
  check(x(i) * x.clamped(2_c * i - 3_c) + x.clamped(i + 2_c) * x.clamped(i - 2_c), spread(-1, 1));
  check(x(i) * x.reflected(3_c * i - 8_c) + x.wrapped(i - 7_c) * x.reflected(i + 4_c), spread(-1, 1));
  check(x(i) * x.padded(0.5_c)(i + 1_c) * x.padded(2_c)(i - 3_c), spread(-1, 1));
  check(x(i) * mean(u.in(0_c, 3_c), x.skipping(i + u - 1_c) * x.skipping(i + u - 1_c)), spread(-1, 1));
}

// By a definition, and along the input that jvp declares.
TEST(derivatives, along_an_input_and_by_a_definition) {
  constexpr auto hidden = define<"hidden">(i) = x(i) * x(i);
  constexpr auto y = define<"y">(i) = hidden(i) * sum(k, hidden(k));
  const auto d = both(jvp(y, hidden))(x = list<double>({1, 2}), tangent(hidden) = list<double>({1, 10}));
  EXPECT_EQ(d(0), 1 * 5 + 1 * 11.0);
  EXPECT_EQ(d(1), 10 * 5 + 4 * 11.0);
  const auto s = both(jvp(sum(i, x(i) * w(i)), w))(x = list<double>({1, 2}), w = list<double>({0, 0}),
                                                   tangent(w) = list<double>({3, 4}));
  EXPECT_EQ(s, 11.0);
}

}  // namespace
