// The data of W7 and W13, and what they should come to.
#pragma once
#include "data.hpp"
#include "session.hpp"

namespace sheaf::bench {

struct images {
  static constexpr std::int64_t in = 224, out = 112;
  array<float, 4> x = noise(-1, 1, 8, 64, in, in), dx = touched(8, 64, in, in), y = touched(8, 64, out, out),
                  dy = noise(-1, 1, 8, 64, out, out);

  // visit(tap) for the elements of a plane that the window at (r, c) has.
  template <class Visit>
  static void taps(std::int64_t r, std::int64_t c, Visit visit) {
    for (std::int64_t u = std::max<std::int64_t>(0, 2 * r - 1); u < std::min(in, 2 * r + 2); ++u)
      for (std::int64_t v = std::max<std::int64_t>(0, 2 * c - 1); v < std::min(in, 2 * c + 2); ++v) visit(u * in + v);
  }
  // What a window is worth: its maximum, or the mean of its 9 places, those outside being 0.
  static double worth(const float* plane, std::int64_t r, std::int64_t c, bool maximum) {
    double total = 0, best = -infinity;
    taps(r, c, [&](std::int64_t at) {
      total += static_cast<double>(plane[at]) / 9;
      best = std::max(best, static_cast<double>(plane[at]));
    });
    return maximum ? best : total;
  }
  double error(bool maximum) const {
    return error_of(y, out * out, [&](std::int64_t p, double* want) {
      for (std::int64_t r = 0; r < out; ++r)
        for (std::int64_t c = 0; c < out; ++c) want[r * out + c] = worth(x.data() + p * in * in, r, c, maximum);
    });
  }
  double gradient_error(bool maximum) const {
    return error_of(dx, in * in, [&](std::int64_t p, double* want) {
      const float* plane = x.data() + p * in * in;
      std::fill(want, want + in * in, 0.0);
      for (std::int64_t r = 0; r < out; ++r)
        for (std::int64_t c = 0; c < out; ++c) {
          const auto d = static_cast<double>(dy.data()[(p * out + r) * out + c]);
          const double best = worth(plane, r, c, true);
          double times = 0;  // equal ones share
          taps(r, c, [&](std::int64_t at) { times += static_cast<double>(plane[at]) == best ? 1 : 0; });
          taps(r, c, [&](std::int64_t at) {
            if (!maximum)
              want[at] += d / 9;
            else if (static_cast<double>(plane[at]) == best)
              want[at] += d / times;
          });
        }
    });
  }
};

struct signal {
  static constexpr std::int64_t length = std::int64_t{1} << 24;
  array<float, 1> x = noise(0, 1, length), dx = touched(length), y, dy;
  std::vector<double> before = std::vector<double>(length + 1, 0);

  explicit signal(std::int64_t width) { set(width); }
  void set(std::int64_t width) {
    y = touched(length - width + 1);
    dy = noise(-1, 1, length - width + 1);
  }
  template <class Value>
  void run_up(std::int64_t count, Value value) {
    for (std::int64_t k = 0; k < count; ++k) before[at(k + 1)] = before[at(k)] + value(k);
  }
  static std::size_t at(std::int64_t k) { return static_cast<std::size_t>(k); }
  double error(std::int64_t width) {
    run_up(length, [&](std::int64_t k) { return static_cast<double>(x(k)); });
    return error_of(y, 1, [&](std::int64_t k, double* want) {
      *want = (before[at(k + width)] - before[at(k)]) / static_cast<double>(width);
    });
  }
  double gradient_error(std::int64_t width) {
    run_up(dy.size(), [&](std::int64_t k) { return static_cast<double>(dy(k)); });
    return error_of(dx, 1, [&](std::int64_t k, double* want) {
      *want = (before[at(std::min(k + 1, dy.size()))] - before[at(std::max<std::int64_t>(0, k - width + 1))]) /
              static_cast<double>(width);
    });
  }
};

}  // namespace sheaf::bench
