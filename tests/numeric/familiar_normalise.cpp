// Softmax, normalisations and losses: against plain loops, gradients against finite differences.
#include <support/familiar.hpp>

namespace {
using namespace sheaf;
using namespace sheaf::test;

constexpr auto x = tensor<"x", double, 2>;
constexpr auto z = tensor<"z", double, 3>;
constexpr auto w = tensor<"w", double, 1>;
constexpr auto b = tensor<"b", double, 1>;
constexpr auto y = tensor<"y", std::int64_t, 1>;
constexpr int N = 4, C = 6;
const array<double, 2> values = noise_array<double>(-3, 3, N, C);
const array<double, 1> scale = noise_array<double>(0.5, 2, C), shift = noise_array<double>(-1, 1, C);

double exp_sum(std::int64_t n) {
  double s = 0;
  for (int c = 0; c < C; ++c) s += std::exp(values(n, c));
  return s;
}

TEST(familiar_normalise, softmax_and_log_softmax) {
  expect_each(checked(softmax(x, dim<1>), x, values), {N, C},
              [](auto at) { return std::exp(values(at[0], at[1])) / exp_sum(at[0]); });
  expect_each(checked(log_softmax(x, dim<-1>), x, values), {N, C},
              [](auto at) { return values(at[0], at[1]) - std::log(exp_sum(at[0])); });
  expect_each(checked(softmax(x, dim<0>), x, values), {N, C}, [](auto at) {
    double s = 0;
    for (int n = 0; n < N; ++n) s += std::exp(values(n, at[1]));
    return std::exp(values(at[0], at[1])) / s;
  });
}
TEST(familiar_normalise, softmax_of_large_numbers) {
  const auto s = both(softmax(x, dim<1>))(x = filled(array<double, 2>(1, 3), {1e4, 1e4, -1e4}));
  EXPECT_EQ(s(0, 0), 0.5);
  EXPECT_EQ(s(0, 2), 0);
}

double mean_of(std::int64_t n) {
  double s = 0;
  for (int c = 0; c < C; ++c) s += values(n, c) / C;
  return s;
}
double square_of(std::int64_t n, double from) {
  double s = 0;
  for (int c = 0; c < C; ++c) s += (values(n, c) - from) * (values(n, c) - from) / C;
  return s;
}

TEST(familiar_normalise, layer_norm) {
  const auto standard = [](auto at) {
    return (values(at[0], at[1]) - mean_of(at[0])) / std::sqrt(square_of(at[0], mean_of(at[0])) + 1e-5);
  };
  expect_each(checked(layer_norm(x), x, values), {N, C}, standard);
  const auto full = [&](auto at) { return standard(at) * scale(at[1]) + shift(at[1]); };
  expect_each(checked(layer_norm(x, w, b), x, values, w = scale, b = shift), {N, C}, full);
  expect_each(checked(layer_norm(x, w, b), w, scale, x = values, b = shift), {N, C}, full);
  expect_each(checked(layer_norm(x, w, b), b, shift, x = values, w = scale), {N, C}, full);
}
TEST(familiar_normalise, rms_norm) {
  const auto full = [](auto at) { return values(at[0], at[1]) / std::sqrt(square_of(at[0], 0) + 1e-6) * scale(at[1]); };
  expect_each(checked(rms_norm(x, w), x, values, w = scale), {N, C}, full);
}
TEST(familiar_normalise, group_and_batch_norm) {
  const array<double, 3> image = noise_array<double>(-2, 2, 3, 6, 4);
  const auto statistics = [&](auto inside) {
    double sum = 0, square = 0, n = 0;
    for (int i = 0; i < 3; ++i)
      for (int c = 0; c < 6; ++c)
        for (int s = 0; s < 4; ++s)
          if (inside(i, c)) sum += image(i, c, s), square += image(i, c, s) * image(i, c, s), ++n;
    return std::pair(sum / n, square / n - sum / n * (sum / n));
  };
  expect_each(checked(group_norm<2>(z, w, b), z, image, w = scale, b = shift), {3, 6, 4}, [&](auto at) {
    const auto [m, v] = statistics([&](int i, int c) { return i == at[0] && c / 3 == at[1] / 3; });
    return (image(at[0], at[1], at[2]) - m) / std::sqrt(v + 1e-5) * scale(at[1]) + shift(at[1]);
  });
  expect_each(checked(batch_norm(z), z, image), {3, 6, 4}, [&](auto at) {
    const auto [m, v] = statistics([&](int, int c) { return c == at[1]; });
    return (image(at[0], at[1], at[2]) - m) / std::sqrt(v + 1e-5);
  });
}

const auto classes = filled(array<std::int64_t, 1>(N), {2, 0, -100, 5});
double loss_of(std::int64_t n, double smoothing) {
  if (classes(n) == -100) return 0;
  double all = 0;
  for (int c = 0; c < C; ++c) all += std::log(exp_sum(n)) - values(n, c);
  return (1 - smoothing) * (std::log(exp_sum(n)) - values(n, classes(n))) + smoothing * all / C;
}

TEST(familiar_losses, cross_entropy) {
  constexpr loss_options each{.reduction = reduce_losses::none},
      smooth{.reduction = reduce_losses::sum, .smoothing = 0.1};
  const auto total = [](double smoothing) {
    double s = 0;
    for (int n = 0; n < N; ++n) s += loss_of(n, smoothing);
    return s;
  };
  expect_each(checked(cross_entropy<each>(x, y), x, values, y = classes), {N},
              [](auto at) { return loss_of(at[0], 0); });
  expect_each(checked(cross_entropy(x, y), x, values, y = classes), {}, [&](auto) { return total(0) / 3; });
  expect_each(checked(cross_entropy<smooth>(x, y), x, values, y = classes), {}, [&](auto) { return total(0.1); });
  expect_each(checked(nll_loss(log_softmax(x, dim<1>), y), x, values, y = classes), {},
              [&](auto) { return total(0) / 3; });
  expect_each(checked(cross_entropy(x, y, w), x, values, y = classes, w = scale), {}, [&](auto) {
    double s = 0, weight = 0;
    for (int n = 0; n < N; ++n)
      if (classes(n) != -100) s += scale(classes(n)) * loss_of(n, 0), weight += scale(classes(n));
    return s / weight;
  });
}
TEST(familiar_losses, cross_entropy_of_images_and_of_one_sample) {
  constexpr auto ids = tensor<"ids", std::int64_t, 2>;
  constexpr auto one = scalar<"one", std::int64_t>;
  constexpr auto v = tensor<"v", double, 1>;
  const array<double, 3> image = noise_array<double>(-2, 2, 2, 3, 4);
  const auto picked = filled(array<std::int64_t, 2>(2, 4), {0, 1, 2, 0, 1, -100, 2, 2});
  expect_each(checked(cross_entropy(z, ids), z, image, ids = picked), {}, [&](auto) {
    double s = 0;
    for (int n = 0; n < 2; ++n)
      for (int k = 0; k < 4; ++k) {
        if (picked(n, k) < 0) continue;
        double e = 0;
        for (int c = 0; c < 3; ++c) e += std::exp(image(n, c, k));
        s += std::log(e) - image(n, picked(n, k), k);
      }
    return s / 7;
  });
  const std::int64_t two = 2;
  expect_each(checked(cross_entropy(v, one), v, scale, one = two), {}, [&](auto) {
    double e = 0;
    for (int c = 0; c < C; ++c) e += std::exp(scale(c));
    return std::log(e) - scale(2);
  });
}
// Every sample counts in the mean, whatever the weights of the classes, as in PyTorch.
TEST(familiar_losses, cross_entropy_of_probabilities) {
  constexpr auto p = tensor<"p", double, 2>;
  constexpr loss_options each{.reduction = reduce_losses::none},
      smooth{.reduction = reduce_losses::sum, .smoothing = 0.1};
  const array<double, 2> shares = noise_array<double>(0.1, 1, N, C);
  const auto loss = [&](std::int64_t n, double smoothing, auto weight) {
    double s = 0;
    for (int c = 0; c < C; ++c)
      s += (shares(n, c) * (1 - smoothing) + smoothing / C) * weight(c) * (std::log(exp_sum(n)) - values(n, c));
    return s;
  };
  const auto total = [&](double smoothing, auto weight) {
    double s = 0;
    for (int n = 0; n < N; ++n) s += loss(n, smoothing, weight);
    return s;
  };
  const auto one = [](int) { return 1.0; };
  const auto of_class = [](int c) { return scale(c); };
  expect_each(checked(cross_entropy<each>(x, p), x, values, p = shares), {N},
              [&](auto at) { return loss(at[0], 0, one); });
  expect_each(checked(cross_entropy(x, p), x, values, p = shares), {}, [&](auto) { return total(0, one) / N; });
  expect_each(checked(cross_entropy(x, p), p, shares, x = values), {}, [&](auto) { return total(0, one) / N; });
  expect_each(checked(cross_entropy<smooth>(x, p), x, values, p = shares), {}, [&](auto) { return total(0.1, one); });
  expect_each(checked(cross_entropy(x, p, w), x, values, p = shares, w = scale), {},
              [&](auto) { return total(0, of_class) / N; });
  constexpr auto v = tensor<"v", double, 1>;
  constexpr auto q = tensor<"q", double, 1>;
  const array<double, 1> whole = noise_array<double>(0.1, 1, C);
  expect_each(checked(cross_entropy(v, q), v, scale, q = whole), {}, [&](auto) {
    double e = 0, s = 0;
    for (int c = 0; c < C; ++c) e += std::exp(scale(c));
    for (int c = 0; c < C; ++c) s += whole(c) * (std::log(e) - scale(c));
    return s;
  });
}
TEST(familiar_losses, differences) {
  const array<double, 2> other = noise_array<double>(-1, 1, N, C);
  constexpr auto o = tensor<"o", double, 2>;
  double squares = 0, sizes = 0;
  for (int i = 0; i < N * C; ++i) {
    const double d = values.data()[i] - other.data()[i];
    squares += d * d, sizes += std::abs(d);
  }
  expect_each(checked(mse_loss(x, o), x, values, o = other), {}, [&](auto) { return squares / (N * C); });
  expect_each(checked(l1_loss<reduce_losses::sum>(x, o), o, other, x = values), {}, [&](auto) { return sizes; });
}

}  // namespace
