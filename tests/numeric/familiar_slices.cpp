// Slices, diagonals, bands, shifts, padding; products and running reductions: against plain loops and finite
// differences.
#include <support/familiar.hpp>

namespace {
using namespace sheaf;
using namespace sheaf::test;

constexpr auto x = tensor<"x", double, 2>;
constexpr int A = 7, B = 5;
const array<double, 2> values = noise_array<double>(-2, 2, A, B);

TEST(familiar_slices, ranges) {
  expect_each(checked(slice(x, range<2, 5>), x, values), {3, B}, [](auto at) { return values(at[0] + 2, at[1]); });
  expect_each(checked(slice(x, whole, range<1, none, 2>), x, values), {A, 2},
              [](auto at) { return values(at[0], 1 + 2 * at[1]); });
  expect_each(checked(slice(x, range<none, none, -1>), x, values), {A, B},
              [](auto at) { return values(A - 1 - at[0], at[1]); });
  expect_each(checked(slice(x, range<-3>), x, values), {3, B}, [](auto at) { return values(A - 3 + at[0], at[1]); });
  expect_each(checked(slice(x, range<none, -2>), x, values), {A - 2, B}, [](auto at) { return values(at[0], at[1]); });
  expect_each(checked(slice(x, range<5, 1, -2>), x, values), {2, B},
              [](auto at) { return values(5 - 2 * at[0], at[1]); });
  expect_each(checked(slice(x, at<-1>), x, values), {B}, [](auto p) { return values(A - 1, p[0]); });
  expect_each(checked(slice(x, range<3, 100>, at<2>), x, values), {A - 3}, [](auto p) { return values(3 + p[0], 2); });
}
TEST(familiar_slices, ranges_beyond_the_tensor_are_cut) {
  const auto [a, b, c] = both(slice(x, range<9>), slice(x, range<-100, 2>), slice(x, range<100, none, -3>))(x = values);
  EXPECT_EQ(a.extent(0), 0);
  EXPECT_EQ(b.extent(0), 2);
  expect_each(c, {3, B}, [](auto at) { return values(6 - 3 * at[0], at[1]); });
}
TEST(familiar_slices, of_a_tensor_of_static_extents) {
  constexpr auto s = tensor<"s", double, 2, A, B>;
  static_assert(detail::static_extent(slice(s, range<-3, none>, range<none, none, -2>), 0) == 3);
  static_assert(detail::static_extent(slice(s, range<-3, none>, range<none, none, -2>), 1) == 3);
  expect_each(checked(slice(s, range<-3, none>, range<none, none, -2>), s, values), {3, 3},
              [](auto at) { return values(A - 3 + at[0], B - 1 - 2 * at[1]); });
}

TEST(familiar_slices, diagonals) {
  expect_each(checked(diagonal(x), x, values), {5}, [](auto at) { return values(at[0], at[0]); });
  expect_each(checked(diagonal<2>(x), x, values), {3}, [](auto at) { return values(at[0], at[0] + 2); });
  expect_each(checked(diagonal<-3>(x), x, values), {4}, [](auto at) { return values(at[0] + 3, at[0]); });
  expect_each(checked(trace(x), x, values), {}, [](auto) {
    double s = 0;
    for (int i = 0; i < B; ++i) s += values(i, i);
    return s;
  });
}
TEST(familiar_slices, triangles_and_bands) {
  expect_each(checked(tril(x), x, values), {A, B}, [](auto at) { return at[1] <= at[0] ? values(at[0], at[1]) : 0; });
  expect_each(checked(triu<1>(x), x, values), {A, B},
              [](auto at) { return at[1] >= at[0] + 1 ? values(at[0], at[1]) : 0; });
  expect_each(checked(band<2, 1>(x), x, values), {A, B},
              [](auto at) { return at[1] >= at[0] - 2 && at[1] <= at[0] + 1 ? values(at[0], at[1]) : 0; });
}
TEST(familiar_slices, flip_and_roll) {
  expect_each(checked(flip(x, dim<1>), x, values), {A, B}, [](auto at) { return values(at[0], B - 1 - at[1]); });
  expect_each(checked(roll<2>(x, dim<0>), x, values), {A, B},
              [](auto at) { return values((at[0] - 2 + A) % A, at[1]); });
  expect_each(checked(roll<-1>(x, dim<1>), x, values), {A, B}, [](auto at) { return values(at[0], (at[1] + 1) % B); });
}
TEST(familiar_slices, padding) {
  const auto row = [](std::int64_t r, std::int64_t c) { return values(r, c); };
  expect_each(checked(pad<1, 2>(x, dim<0>), x, values), {A + 3, B},
              [&](auto at) { return at[0] < 1 || at[0] > A ? 0 : row(at[0] - 1, at[1]); });
  expect_each(checked(pad<0, 1, padding::constant, -1.5>(x, dim<1>), x, values), {A, B + 1},
              [&](auto at) { return at[1] == B ? -1.5 : row(at[0], at[1]); });
  expect_each(checked(pad<3, 2, padding::reflect>(x, dim<1>), x, values), {A, B + 5}, [&](auto at) {
    const std::int64_t c = std::abs(at[1] - 3);
    return row(at[0], B - 1 - std::abs(B - 1 - c));
  });
  expect_each(checked(pad<3, 2, padding::replicate>(x, dim<0>), x, values), {A + 5, B},
              [&](auto at) { return row(std::clamp<std::int64_t>(at[0] - 3, 0, A - 1), at[1]); });
  expect_each(checked(pad<3, 2, padding::circular>(x, dim<0>), x, values), {A + 5, B},
              [&](auto at) { return row((at[0] - 3 + A) % A, at[1]); });
}

TEST(familiar_scans, forward) {
  const auto run = [](auto at, double start, auto fold, std::int64_t from, std::int64_t to) {
    for (std::int64_t s = from; s < to; ++s) start = fold(start, values(s, at[1]));
    return start;
  };
  const auto add = [](double a, double b) { return a + b; };
  const auto times = [](double a, double b) { return a * b; };
  const auto most = [](double a, double b) { return std::max(a, b); };
  const auto least = [](double a, double b) { return std::min(a, b); };
  const auto exps = [](double a, double b) { return a + std::exp(b); };
  expect_each(checked(cumsum(x, dim<0>), x, values), {A, B}, [&](auto at) { return run(at, 0, add, 0, at[0] + 1); });
  expect_each(checked(cumsum<reversed>(x, dim<0>), x, values), {A, B},
              [&](auto at) { return run(at, 0, add, at[0], A); });
  expect_each(checked(cumsum<exclusive>(x, dim<0>), x, values), {A, B},
              [&](auto at) { return run(at, 0, add, 0, at[0]); });
  expect_each(checked(cumsum<reversed, exclusive>(x, dim<0>), x, values), {A, B},
              [&](auto at) { return run(at, 0, add, at[0] + 1, A); });
  expect_each(checked(cumprod(x, dim<0>), x, values), {A, B}, [&](auto at) { return run(at, 1, times, 0, at[0] + 1); });
  expect_each(checked(cummax(x, dim<0>), x, values), {A, B},
              [&](auto at) { return run(at, -1e9, most, 0, at[0] + 1); });
  expect_each(checked(cummin<reversed>(x, dim<0>), x, values), {A, B},
              [&](auto at) { return run(at, 1e9, least, at[0], A); });
  expect_each(checked(logcumsumexp(x, dim<0>), x, values), {A, B},
              [&](auto at) { return std::log(run(at, 0, exps, 0, at[0] + 1)); });
}

constexpr auto v = tensor<"v", double, 1>;
constexpr auto w = tensor<"w", double, 2>;
const array<double, 1> line = noise_array<double>(0.5, 2, B);
const array<double, 2> weights = noise_array<double>(0.2, 2, A, B);

TEST(familiar_products, contractions) {
  constexpr auto m = tensor<"m", double, 2>;
  const array<double, 2> right = noise_array<double>(-1, 1, B, 3);
  expect_each(checked(matmul(x, m), x, values, m = right), {A, 3}, [&](auto at) {
    double s = 0;
    for (int k = 0; k < B; ++k) s += values(at[0], k) * right(k, at[1]);
    return s;
  });
  expect_each(checked(matmul(x, v), v, line, x = values), {A}, [&](auto at) {
    double s = 0;
    for (int k = 0; k < B; ++k) s += values(at[0], k) * line(k);
    return s;
  });
  expect_each(checked(dot(v, v), v, line), {}, [&](auto) {
    double s = 0;
    for (int k = 0; k < B; ++k) s += line(k) * line(k);
    return s;
  });
  constexpr auto p = tensor<"p", double, 3>;
  constexpr auto q = tensor<"q", double, 3>;
  const array<double, 3> left = noise_array<double>(-1, 1, 2, 3, 4), other = noise_array<double>(-2, 1, 2, 4, 2);
  expect_each(checked(matmul(p, q), q, other, p = left), {2, 3, 2}, [&](auto at) {
    double s = 0;
    for (int k = 0; k < 4; ++k) s += left(at[0], at[1], k) * other(at[0], k, at[2]);
    return s;
  });
}
// As torch.matmul: a batch that is 1 by type, or that one factor hasn't, is repeated.
TEST(familiar_products, batches_are_broadcast) {
  constexpr auto a = tensor<"a", double, 4, dynamic, 1, 3, 4>;
  constexpr auto b = tensor<"b", double, 3>;
  constexpr auto c = tensor<"c", double, 2>;
  const array<double, 4> left = noise_array<double>(-1, 1, 2, 1, 3, 4);
  const array<double, 3> right = noise_array<double>(-1, 1, 5, 4, 2);
  const array<double, 2> flat = noise_array<double>(-1, 1, 3, 4);
  const auto product = [&](auto at) {
    double s = 0;
    for (int k = 0; k < 4; ++k) s += left(at[0], 0, at[2], k) * right(at[1], k, at[3]);
    return s;
  };
  expect_each(checked(matmul(a, b), a, left, b = right), {2, 5, 3, 2}, product);
  expect_each(checked(matmul(a, b), b, right, a = left), {2, 5, 3, 2}, product);
  expect_each(checked(matmul(c, b), c, flat, b = right), {5, 3, 2}, [&](auto at) {
    double s = 0;
    for (int k = 0; k < 4; ++k) s += flat(at[1], k) * right(at[0], k, at[2]);
    return s;
  });
  constexpr auto d = tensor<"d", double, 1>;
  const array<double, 1> row = noise_array<double>(-1, 1, 4);
  expect_each(checked(matmul(d, b), d, row, b = right), {5, 2}, [&](auto at) {
    double s = 0;
    for (int k = 0; k < 4; ++k) s += row(k) * right(at[0], k, at[1]);
    return s;
  });
  expect_each(checked(matmul(a, d), d, row, a = left), {2, 1, 3}, [&](auto at) {
    double s = 0;
    for (int k = 0; k < 4; ++k) s += left(at[0], 0, at[2], k) * row(k);
    return s;
  });
}
TEST(familiar_products, similarity_and_weighted_means) {
  const auto total = [](auto term) {
    double s = 0;
    for (int k = 0; k < B; ++k) s += term(k);
    return s;
  };
  expect_each(checked(cosine_similarity(x, w, dim<1>), x, values, w = weights), {A}, [&](auto at) {
    const auto r = at[0];
    return total([&](int k) { return values(r, k) * weights(r, k); }) /
           std::sqrt(total([&](int k) { return values(r, k) * values(r, k); }) *
                     total([&](int k) { return weights(r, k) * weights(r, k); }));
  });
  expect_each(checked(weighted_mean(x, w, dim<1>), w, weights, x = values), {A}, [&](auto at) {
    const auto r = at[0];
    return total([&](int k) { return values(r, k) * weights(r, k); }) / total([&](int k) { return weights(r, k); });
  });
  expect_each(checked(weighted_mean(x, v, dim<1>), x, values, v = line), {A}, [&](auto at) {
    const auto r = at[0];
    return total([&](int k) { return values(r, k) * line(k); }) / total([&](int k) { return line(k); });
  });
  constexpr auto mask = tensor<"mask", bool, 2>;
  array<bool, 2> chosen(A, B);
  for (int k = 0; k < A * B; ++k) chosen.data()[k] = k % 3 != 1 && k >= B;
  expect_each(checked(masked_mean(x, mask, dim<0>), x, values, mask = chosen), {B}, [&](auto at) {
    double s = 0, n = 0;
    for (int r = 0; r < A; ++r)
      if (chosen(r, at[0])) s += values(r, at[0]), ++n;
    return s / n;
  });
}
TEST(familiar_products, broadcasting) {
  constexpr auto plus = [](auto a, auto b) { return a * b; };
  expect_each(checked(elementwise(plus, x, v), x, values, v = line), {A, B},
              [](auto at) { return values(at[0], at[1]) * line(at[1]); });
  expect_each(checked(elementwise([](auto a, auto b) { return a - b; }, x, mean<keepdim>(x, dim<1>)), x, values),
              {A, B}, [](auto at) {
                double s = 0;
                for (int k = 0; k < B; ++k) s += values(at[0], k) / B;
                return values(at[0], at[1]) - s;
              });
}

}  // namespace
