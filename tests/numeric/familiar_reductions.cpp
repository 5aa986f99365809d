// Reductions by position: against plain loops, gradients against finite differences.
#include <support/familiar.hpp>

namespace {
using namespace sheaf;
using namespace sheaf::test;

constexpr auto x = tensor<"x", double, 3>;
constexpr int A = 3, B = 5, C = 4;
const array<double, 3> values = noise_array<double>(-2, 2, A, B, C);

// A fold over dimension 1 in a plain loop.
template <class Fold>
auto along(double start, Fold fold, bool middle_kept = false) {
  return [=](auto at) {
    double total = start;
    for (int j = 0; j < B; ++j) total = fold(total, values(at[0], j, at[middle_kept ? 2 : 1]));
    return total;
  };
}
const auto add = [](double a, double b) { return a + b; };
const auto largest = [](double a, double b) { return std::max(a, b); };

TEST(familiar_reductions, over_one_dimension) {
  expect_each(checked(sum(x, dim<1>), x, values), {A, C}, along(0, add));
  expect_each(checked(mean(x, dim<1>), x, values), {A, C}, [](auto at) { return along(0, add)(at) / B; });
  expect_each(checked(prod(x, dim<1>), x, values), {A, C}, along(1, [](double a, double b) { return a * b; }));
  expect_each(checked(max(x, dim<1>), x, values), {A, C}, along(-1e9, largest));
  expect_each(checked(min(x, dim<1>), x, values), {A, C},
              along(1e9, [](double a, double b) { return std::min(a, b); }));
  expect_each(checked(logsumexp(x, dim<1>), x, values), {A, C},
              [](auto at) { return std::log(along(0, [](double a, double b) { return a + std::exp(b); })(at)); });
}

TEST(familiar_reductions, negative_and_several_dimensions) {
  const auto total = [](auto at) {
    double s = 0;
    for (int i = 0; i < A; ++i)
      for (int k = 0; k < C; ++k) s += values(i, at[0], k);
    return s;
  };
  expect_each(checked(sum(x, dim<0>, dim<-1>), x, values), {B}, total);
  expect_each(checked(sum(x, dim<2>, dim<0>), x, values), {B}, total);
  expect_each(checked(mean(x, dim<-1>, dim<0>), x, values), {B}, [&](auto at) { return total(at) / (A * C); });
}

TEST(familiar_reductions, whole_tensor_and_keepdim) {
  double total = 0;
  for (const double v : values) total += v;
  expect_each(checked(sum(x), x, values), {}, [&](auto) { return total; });
  expect_each(checked(mean(x), x, values), {}, [&](auto) { return total / (A * B * C); });
  expect_each(checked(sum<keepdim>(x, dim<1>), x, values), {A, 1, C}, along(0, add, true));
  expect_each(checked(max<keepdim>(x, dim<-2>), x, values), {A, 1, C}, along(-1e9, largest, true));
  expect_each(checked(mean<keepdim>(x), x, values), {1, 1, 1}, [&](auto) { return total / (A * B * C); });
}

TEST(familiar_reductions, truth_and_counts) {
  constexpr auto n = tensor<"n", std::int64_t, 2>;
  const auto given = filled(array<std::int64_t, 2>(3, 3), {0, 0, 0, 0, 5, 0, 1, -2, 3});
  const auto [a, b, c] = both(any(n, dim<1>), all(n, dim<-1>), count_nonzero(n, dim<0>))(n = given);
  expect_each(a, {3}, [](auto at) { return at[0] > 0; });
  expect_each(b, {3}, [](auto at) { return at[0] == 2; });
  expect_each(c, {3}, [](auto at) { return at[0] == 1 ? 2 : 1; });
}

TEST(familiar_reductions, positions_of_extremes) {
  const auto [along_row, whole, least] = both(argmax(x, dim<1>), argmax(x), argmin<keepdim>(x, dim<-1>))(x = values);
  expect_each(along_row, {A, C}, [](auto at) {
    int best = 0;
    for (int j = 1; j < B; ++j)
      if (values(at[0], j, at[1]) > values(at[0], best, at[1])) best = j;
    return best;
  });
  EXPECT_EQ(whole(), std::max_element(values.begin(), values.end()) - values.begin());
  expect_each(least, {A, B, 1}, [](auto at) {
    int best = 0;
    for (int k = 1; k < C; ++k)
      if (values(at[0], at[1], k) < values(at[0], at[1], best)) best = k;
    return best;
  });
}

TEST(familiar_reductions, positions_among_equals_and_over_several_dimensions) {
  array<double, 3> few(A, B, C);  // every value stands several times
  for (int n = 0; n < A * B * C; ++n) few.data()[n] = static_cast<double>(n * 7 % 5);
  const auto [last, whole, over_two, least] =
      both(argmax<ties::last>(x, dim<1>), argmax<ties::last, keepdim>(x), argmax(x, dim<1>, dim<-1>),
           argmin<ties::last>(x, dim<0>, dim<2>))(x = few);
  expect_each(last, {A, C}, [&](auto at) {
    int best = 0;
    for (int j = 1; j < B; ++j)
      if (few(at[0], j, at[1]) >= few(at[0], best, at[1])) best = j;
    return best;
  });
  std::int64_t latest = 0;
  for (std::int64_t n = 1; n < A * B * C; ++n)
    if (few.data()[n] >= few.data()[latest]) latest = n;
  EXPECT_EQ(whole(0, 0, 0), latest);
  expect_each(over_two, {A}, [&](auto at) {
    int best = 0;
    for (int n = 1; n < B * C; ++n)
      if (few(at[0], n / C, n % C) > few(at[0], best / C, best % C)) best = n;
    return best;
  });
  expect_each(least, {B}, [&](auto at) {
    int best = 0;
    for (int n = 1; n < A * C; ++n)
      if (few(n / C, at[0], n % C) <= few(best / C, at[0], best % C)) best = n;
    return best;
  });
}

TEST(familiar_reductions, position_in_a_scalar) {
  constexpr auto s = scalar<"s", float>;
  EXPECT_EQ(both(argmax(s))(s = 7.0f)(), 0);
}

double variance(std::array<std::int64_t, 2> at, double less) {
  const double mean = along(0, add)(at) / B;
  return along(0, [=](double a, double b) { return a + (b - mean) * (b - mean); })(at) / (B - less);
}

TEST(familiar_reductions, var_and_stddev) {
  expect_each(checked(var(x, dim<1>), x, values), {A, C}, [](auto at) { return variance(at, 1); });
  expect_each(checked(var<correction<0>>(x, dim<1>), x, values), {A, C}, [](auto at) { return variance(at, 0); });
  expect_each(checked(stddev<correction<1.5>>(x, dim<1>), x, values), {A, C},
              [](auto at) { return std::sqrt(variance(at, 1.5)); });
  expect_each(checked(stddev<keepdim, correction<2>>(x, dim<1>), x, values), {A, 1, C}, [](auto at) {
    return std::sqrt(variance({at[0], at[2]}, 2));
  });
}

TEST(familiar_reductions, norms) {
  const auto p_norm = [](double p) {
    return [=](auto at) {
      return std::pow(along(0, [=](double a, double b) { return a + std::pow(std::abs(b), p); })(at), 1 / p);
    };
  };
  expect_each(checked(norm<1>(x, dim<1>), x, values), {A, C}, p_norm(1));
  expect_each(checked(norm<2>(x, dim<1>), x, values), {A, C}, p_norm(2));
  expect_each(checked(norm<3>(x, dim<1>), x, values), {A, C}, p_norm(3));
  expect_each(checked(norm<1.5>(x, dim<1>), x, values), {A, C}, p_norm(1.5));
  expect_each(checked(norm<infinity>(x, dim<1>), x, values), {A, C},
              along(0, [](double a, double b) { return std::max(a, std::abs(b)); }));
  expect_each(both(norm<0>(x, dim<1>))(x = values), {A, C}, [](auto) { return B; });
}

TEST(familiar_reductions, a_norm_of_zeros_has_gradient_0) {
  array<double, 3> zeros(2, 2, 2);
  zeros.fill(0);
  const auto d = both(grad(norm<2>(x), x))(x = zeros);
  for (const double v : d) EXPECT_EQ(v, 0);
}

TEST(familiar_reductions, policies) {
  constexpr auto v = tensor<"v", double, 1>;
  const auto two = list<double>({1, 3, 3});
  const auto [first, even] = both(grad(max<ties::first>(v), v), grad(max(v), v))(v = two);
  expect_each(first, {3}, [](auto at) { return at[0] == 1; });
  expect_each(even, {3}, [](auto at) { return at[0] == 0 ? 0 : 0.5; });
  const auto [nothing, kept] = both(mean<empty::zero>(v), sum<keepdim, accumulate<double>>(v))(v = array<double, 1>(0));
  EXPECT_EQ(nothing(), 0);
  EXPECT_EQ(kept.extent(0), 1);
}

TEST(familiar_reductions, sugar_of_sugar_and_two_of_one_name) {
  const auto [a, b, c] = both(mean(x, dim<0>), mean(x, dim<1>), mean(mean(x, dim<0>)))(x = values);
  EXPECT_EQ(a.extent(0), B);
  EXPECT_EQ(b.extent(0), A);
  double total = 0;
  for (const double v : values) total += v;
  EXPECT_NEAR(c(), total / (A * B * C), 1e-14);
  static_assert(std::is_same_v<decltype(mean(x, dim<0>)), decltype(mean(x, dim<-3>))>);
}

TEST(familiar_reductions, half_floats_count_in_f32) {
  constexpr auto h = tensor<"h", float16, 1>;
  array<float16, 1> ones(4000);
  for (auto& v : ones) v = to_float16(100);
  const auto [v, n] = both(var(h), norm<2>(h))(h = ones);
  EXPECT_EQ(number_of(v()), 0);
  EXPECT_NEAR(number_of(n()), 6324.5, 4);  // its square would be beyond f16
}

}  // namespace
