// Pooling and windows: against plain loops, gradients against finite differences.
#include <support/familiar.hpp>

namespace {
using namespace sheaf;
using namespace sheaf::test;

constexpr auto x = tensor<"x", double, 3>;
constexpr auto image = tensor<"image", double, 4>;
const array<double, 3> line = noise_array<double>(-2, 2, 2, 3, 9);
const array<double, 4> pixels = noise_array<double>(-2, 2, 1, 2, 7, 6);

// Window o along one dimension, as PyTorch cuts it: the taps within [0, n), and how many count with padding.
struct taps_of {
  std::vector<std::int64_t> inside;
  double padded;
  taps_of(std::int64_t o, std::int64_t n, std::int64_t k, std::int64_t s, std::int64_t p, std::int64_t dilation = 1) {
    const std::int64_t begin = o * s - p;
    padded = static_cast<double>(std::min(begin + k, n + p) - begin);
    for (std::int64_t u = 0; u < k; ++u)
      if (const std::int64_t at = begin + u * dilation; at >= 0 && at < n) inside.push_back(at);
  }
};

TEST(familiar_windows, avg_pool1d) {
  const auto mean = [](auto at, std::int64_t k, std::int64_t s, std::int64_t p, bool pads) {
    const taps_of w(at[2], 9, k, s, p);
    double total = 0;
    for (const std::int64_t t : w.inside) total += line(at[0], at[1], t);
    return total / (pads ? w.padded : static_cast<double>(w.inside.size()));
  };
  expect_each(checked(avg_pool1d<pool{.kernel = {3}}>(x), x, line), {2, 3, 3},
              [&](auto at) { return mean(at, 3, 3, 0, true); });
  expect_each(checked(avg_pool1d<pool{.kernel = {3}, .stride = {2}, .padding = {1}}>(x), x, line), {2, 3, 5},
              [&](auto at) { return mean(at, 3, 2, 1, true); });
  expect_each(
      checked(avg_pool1d<pool{.kernel = {3}, .stride = {2}, .padding = {1}, .count_include_pad = false}>(x), x, line),
      {2, 3, 5}, [&](auto at) { return mean(at, 3, 2, 1, false); });
  expect_each(checked(avg_pool1d<pool{.kernel = {4}, .stride = {3}, .padding = {1}, .ceil_mode = true}>(x), x, line),
              {2, 3, 4}, [&](auto at) { return mean(at, 4, 3, 1, true); });
  expect_each(checked(avg_pool1d<pool{.kernel = {2}, .ceil_mode = true}>(x), x, line), {2, 3, 5},
              [&](auto at) { return mean(at, 2, 2, 0, true); });
}

template <class Fold>
auto over_window(std::array<std::int64_t, 4> at, pool p, double start, Fold fold) {
  const auto d = [&](int k) { return p.dilation[k] == 0 ? 1 : p.dilation[k]; };
  const auto s = [&](int k) { return p.stride[k] == 0 ? p.kernel[k] : p.stride[k]; };
  const taps_of rows(at[2], 7, p.kernel[0], s(0), p.padding[0], d(0)),
      columns(at[3], 6, p.kernel[1], s(1), p.padding[1], d(1));
  for (const std::int64_t r : rows.inside)
    for (const std::int64_t c : columns.inside) start = fold(start, pixels(at[0], at[1], r, c));
  return std::tuple(start, rows.padded * columns.padded,
                    static_cast<double>(rows.inside.size() * columns.inside.size()));
}
const auto add = [](double a, double b) { return a + b; };
const auto largest = [](double a, double b) { return std::max(a, b); };

TEST(familiar_windows, avg_pool2d) {
  constexpr pool plain{.kernel = {3, 2}, .stride = {2, 1}},
      padded{.kernel = {3, 2}, .stride = {2, 2}, .padding = {1, 1}},
      bare{.kernel = {3, 2}, .stride = {2, 2}, .padding = {1, 1}, .count_include_pad = false},
      fixed{.kernel = {2, 2}, .divisor_override = 3};
  expect_each(checked(avg_pool2d<plain>(image), image, pixels), {1, 2, 3, 5}, [=](auto at) {
    const auto [s, n, m] = over_window(at, plain, 0, add);
    return s / n;
  });
  expect_each(checked(avg_pool2d<padded>(image), image, pixels), {1, 2, 4, 4}, [=](auto at) {
    const auto [s, n, m] = over_window(at, padded, 0, add);
    return s / n;
  });
  expect_each(checked(avg_pool2d<bare>(image), image, pixels), {1, 2, 4, 4}, [=](auto at) {
    const auto [s, n, m] = over_window(at, bare, 0, add);
    return s / m;
  });
  expect_each(checked(avg_pool2d<fixed>(image), image, pixels), {1, 2, 3, 3},
              [=](auto at) { return std::get<0>(over_window(at, fixed, 0, add)) / 3; });
}

TEST(familiar_windows, max_pool2d) {
  constexpr pool plain{.kernel = {2, 3}}, spread{.kernel = {2, 3}, .stride = {2, 1}, .dilation = {2, 2}},
      both_ways{.kernel = {2, 3}, .stride = {2, 1}, .padding = {1, 1}, .dilation = {2, 2}},
      padded{.kernel = {3, 2}, .stride = {2, 2}, .padding = {1, 1}};
  expect_each(checked(max_pool2d<plain>(image), image, pixels), {1, 2, 3, 2},
              [=](auto at) { return std::get<0>(over_window(at, plain, -1e9, largest)); });
  expect_each(checked(max_pool2d<spread>(image), image, pixels), {1, 2, 3, 2},
              [=](auto at) { return std::get<0>(over_window(at, spread, -1e9, largest)); });
  expect_each(checked(max_pool2d<padded>(image), image, pixels), {1, 2, 4, 4},
              [=](auto at) { return std::get<0>(over_window(at, padded, -1e9, largest)); });
  expect_each(checked(max_pool2d<both_ways>(image), image, pixels), {1, 2, 4, 4},
              [=](auto at) { return std::get<0>(over_window(at, both_ways, -1e9, largest)); });
}

TEST(familiar_windows, lp_pool2d) {
  constexpr pool plain{.kernel = {2, 2}};
  expect_each(checked(lp_pool2d<2, plain>(image), image, pixels), {1, 2, 3, 3}, [=](auto at) {
    return std::sqrt(std::get<0>(over_window(at, plain, 0, [](double a, double b) { return a + b * b; })));
  });
}

TEST(familiar_windows, avg_pool3d_of_ones) {
  constexpr auto block = tensor<"block", double, 4>;
  array<double, 4> ones(2, 4, 4, 6);
  ones.fill(1);
  const auto y = both(avg_pool3d<pool{.kernel = {2, 2, 3}}>(block))(block = ones);
  expect_each(y, {2, 2, 2, 2}, [](auto) { return 1; });
  expect_each(both(max_pool3d<pool{.kernel = {2, 2, 3}}>(block))(block = ones), {2, 2, 2, 2}, [](auto) { return 1; });
}

TEST(familiar_windows, global_and_adaptive) {
  expect_each(checked(global_avg_pool(image), image, pixels), {1, 2}, [](auto at) {
    double s = 0;
    for (int i = 0; i < 42; ++i) s += pixels.data()[at[1] * 42 + i];
    return s / 42;
  });
  const auto cell = [](std::int64_t o, std::int64_t size, std::int64_t n) {
    return std::pair(o * n / size, ((o + 1) * n + size - 1) / size);
  };
  const auto each = [=](auto at, double start, auto fold) {
    const auto [r0, r1] = cell(at[2], 3, 7);
    const auto [c0, c1] = cell(at[3], 4, 6);
    for (auto r = r0; r < r1; ++r)
      for (auto c = c0; c < c1; ++c) start = fold(start, pixels(at[0], at[1], r, c));
    return std::pair(start, static_cast<double>((r1 - r0) * (c1 - c0)));
  };
  expect_each(checked(adaptive_avg_pool<3, 4>(image), image, pixels), {1, 2, 3, 4}, [=](auto at) {
    const auto [s, n] = each(at, 0, add);
    return s / n;
  });
  expect_each(checked(adaptive_max_pool<3, 4>(image), image, pixels), {1, 2, 3, 4},
              [=](auto at) { return each(at, -1e9, largest).first; });
}

TEST(familiar_windows, unfold) {
  expect_each(checked(unfold<3, 2>(x, dim<-1>), x, line), {2, 3, 4, 3},
              [](auto at) { return line(at[0], at[1], at[2] * 2 + at[3]); });
  expect_each(checked(unfold<2, 1, 2>(x, dim<1>), x, line), {2, 1, 9, 2},
              [](auto at) { return line(at[0], at[1] + 2 * at[3], at[2]); });
  expect_each(checked(mean(unfold<3>(x, dim<2>), dim<-1>), x, line), {2, 3, 7}, [](auto at) {
    return (line(at[0], at[1], at[2]) + line(at[0], at[1], at[2] + 1) + line(at[0], at[1], at[2] + 2)) / 3;
  });
}

}  // namespace
