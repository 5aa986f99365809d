// The data of W5, W6 and W12, and what they should come to.
#pragma once
#include <functional>

#include "data.hpp"
#include "session.hpp"

namespace sheaf::bench {

struct matrix {
  static constexpr std::int64_t side = 8192;
  static constexpr double count = side;
  array<float, 2> x, dx = touched(side, side);
  array<float, 1> y = touched(side), dy = noise(-1, 1, side);
  matrix(double low, double high) : x(noise(low, high, side, side)) {}

  // The sum of value(x, k) along an axis, for each k of the other.
  template <class Value>
  std::vector<double> along(int reduced, Value value) const {
    std::vector<double> total(side, 0);
    in_parts(side, [&](std::int64_t first, std::int64_t last) {
      if (reduced == 1) {
        for (std::int64_t r = first; r < last; ++r)
          for (std::int64_t c = 0; c < side; ++c) total[at(r)] += value(static_cast<double>(x(r, c)), r);
      } else {
        for (std::int64_t r = 0; r < side; ++r)
          for (std::int64_t c = first; c < last; ++c) total[at(c)] += value(static_cast<double>(x(r, c)), c);
      }
    });
    return total;
  }
  // gradient(x, k): the derivative of result k by x.
  template <class Gradient>
  double gradient_error(int reduced, Gradient gradient) const {
    return error_of(dx, side, [&](std::int64_t r, double* want) {
      for (std::int64_t c = 0; c < side; ++c) {
        const std::int64_t k = reduced == 1 ? r : c;
        want[c] = static_cast<double>(dy.data()[k]) * gradient(static_cast<double>(x(r, c)), k);
      }
    });
  }
  double square_error(const array<float, 0>& loss) const {
    double wanted = 0;
    for (const double v : along(1, [](double v, std::int64_t) { return (v - 1) * (v - 1); }))
      wanted += v / (count * count);
    return error_of(loss, {wanted});
  }
  double square_gradient_error() const {
    return error_of(dx, side, [this](std::int64_t r, double* want) {
      for (std::int64_t c = 0; c < side; ++c) want[c] = 2 * (static_cast<double>(x(r, c)) - 1) / (count * count);
    });
  }
  static std::size_t at(std::int64_t k) { return static_cast<std::size_t>(k); }
};

// What a row's results should be: the values, and the derivative of value k by an element.
struct expected {
  std::vector<double> values;
  std::function<double(double, std::int64_t)> gradient;
};

template <class F>
std::vector<double> each(std::vector<double> values, F f) {
  for (double& v : values) v = f(v);
  return values;
}
inline expected means(const matrix& m, int reduced) {
  return {each(m.along(reduced, [](double v, std::int64_t) { return v; }), [](double v) { return v / matrix::count; }),
          [](double, std::int64_t) { return 1 / matrix::count; }};
}
inline expected logs(const matrix& m, int reduced) {
  const auto values =
      each(m.along(reduced, [](double v, std::int64_t) { return std::exp(v); }), [](double v) { return std::log(v); });
  return {values, [=](double v, std::int64_t k) { return std::exp(v - values[matrix::at(k)]); }};
}
inline expected variances(const matrix& m, int reduced) {
  const auto centre = means(m, reduced).values;
  const auto apart = [=](double v, std::int64_t k) { return v - centre[matrix::at(k)]; };
  return {each(m.along(reduced, [=](double v, std::int64_t k) { return apart(v, k) * apart(v, k); }),
               [](double v) { return v / (matrix::count - 1); }),
          [=](double v, std::int64_t k) { return 2 * apart(v, k) / (matrix::count - 1); }};
}
inline expected norms(const matrix& m, int reduced) {
  const auto values =
      each(m.along(reduced, [](double v, std::int64_t) { return v * v; }), [](double v) { return std::sqrt(v); });
  return {values, [=](double v, std::int64_t k) { return v / values[matrix::at(k)]; }};
}
inline std::vector<double> positions_of_largest(const matrix& m, int reduced) {
  std::vector<double> position(matrix::side, 0);
  in_parts(matrix::side, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t k = first; k < last; ++k) {
      float best = reduced == 1 ? m.x(k, 0) : m.x(0, k);
      for (std::int64_t n = 1; n < matrix::side; ++n)
        if (const float v = reduced == 1 ? m.x(k, n) : m.x(n, k); v > best)
          best = v, position[matrix::at(k)] = static_cast<double>(n);
    }
  });
  return position;
}

}  // namespace sheaf::bench
