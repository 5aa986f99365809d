// The data of W8 and W9, and what they should come to.
#pragma once
#include "data.hpp"
#include "session.hpp"

namespace sheaf::bench {

inline double at(const array<float, 2>& a, std::int64_t r, std::int64_t c) { return static_cast<double>(a(r, c)); }

struct norm_data {
  static constexpr std::int64_t rows = 16384, width = 1024;
  static constexpr double count = width;
  array<float, 2> x = noise(-4, 4, rows, width), y = touched(rows, width), dy = noise(-1, 1, rows, width),
                  dx = touched(rows, width);
  array<float, 1> w = noise(0.5, 1.5, width), b = noise(-1, 1, width), dw = touched(width), db = touched(width);
  std::vector<double> centre = std::vector<double>(rows), scale = centre;

  norm_data() {
    in_parts(rows, [this](std::int64_t first, std::int64_t last) {
      for (std::int64_t r = first; r < last; ++r) {
        double total = 0, squares = 0;
        for (std::int64_t c = 0; c < width; ++c) total += at(x, r, c);
        for (std::int64_t c = 0; c < width; ++c) squares += std::pow(at(x, r, c) - total / count, 2);
        centre[static_cast<std::size_t>(r)] = total / count;
        scale[static_cast<std::size_t>(r)] = 1 / std::sqrt(squares / count + 1e-5);
      }
    });
  }
  double form(std::int64_t r, std::int64_t c) const {
    return (at(x, r, c) - centre[static_cast<std::size_t>(r)]) * scale[static_cast<std::size_t>(r)];
  }
  double forward_error() const {
    return error_of(y, width, [this](std::int64_t r, double* want) {
      for (std::int64_t c = 0; c < width; ++c)
        want[c] = form(r, c) * static_cast<double>(w(c)) + static_cast<double>(b(c));
    });
  }
  double input_error() const {
    return error_of(dx, width, [this](std::int64_t r, double* want) {
      double total = 0, along = 0;
      for (std::int64_t c = 0; c < width; ++c) {
        want[c] = at(dy, r, c) * static_cast<double>(w(c));
        total += want[c] / count;
        along += want[c] * form(r, c) / count;
      }
      for (std::int64_t c = 0; c < width; ++c)
        want[c] = (want[c] - total - form(r, c) * along) * scale[static_cast<std::size_t>(r)];
    });
  }
  double parameter_error() const {
    std::vector<double> of_w(width, 0), of_b(width, 0);
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = 0; c < width; ++c) {
        of_w[static_cast<std::size_t>(c)] += at(dy, r, c) * form(r, c);
        of_b[static_cast<std::size_t>(c)] += at(dy, r, c);
      }
    return std::max(error_of(dw, of_w), error_of(db, of_b));
  }
};

struct soft_data {
  static constexpr std::int64_t rows = 16384, width = 1024;

  array<float, 2> x = noise(-4, 4, rows, width), y = touched(rows, width), dy = noise(-1, 1, rows, width),
                  dx = touched(rows, width);
  array<std::int64_t, 1> target{rows};
  array<float, 0> loss;
  std::vector<double> log_total = std::vector<double>(rows);

  soft_data() {
    in_parts(rows, [this](std::int64_t first, std::int64_t last) {
      for (std::int64_t r = first; r < last; ++r) {
        double total = 0;
        for (std::int64_t c = 0; c < width; ++c) total += std::exp(at(x, r, c));
        log_total[static_cast<std::size_t>(r)] = std::log(total);
        target(r) = static_cast<std::int64_t>(bits_at(static_cast<std::uint64_t>(r)) % width);
      }
    });
  }
  double soft(std::int64_t r, std::int64_t c) const {
    return std::exp(at(x, r, c) - log_total[static_cast<std::size_t>(r)]);
  }
  double softmax_error() const {
    return error_of(y, width, [this](std::int64_t r, double* want) {
      for (std::int64_t c = 0; c < width; ++c) want[c] = soft(r, c);
    });
  }
  double softmax_gradient_error() const {
    return error_of(dx, width, [this](std::int64_t r, double* want) {
      double along = 0;
      for (std::int64_t c = 0; c < width; ++c) along += at(dy, r, c) * (want[c] = soft(r, c));
      for (std::int64_t c = 0; c < width; ++c) want[c] *= at(dy, r, c) - along;
    });
  }
  double loss_error() const {
    double wanted = 0;
    for (std::int64_t r = 0; r < rows; ++r)
      wanted += (log_total[static_cast<std::size_t>(r)] - at(x, r, target(r))) / static_cast<double>(rows);
    return error_of(loss, {wanted});
  }
  double loss_gradient_error() const {
    return error_of(dx, width, [this](std::int64_t r, double* want) {
      for (std::int64_t c = 0; c < width; ++c)
        want[c] = (soft(r, c) - (c == target(r) ? 1 : 0)) / static_cast<double>(rows);
    });
  }
};

}  // namespace sheaf::bench
