// The data of W1 and W2, and what they should come to.
#pragma once
#include "data.hpp"
#include "session.hpp"

namespace sheaf::bench {

struct gathered_rows {
  static constexpr std::int64_t B = 32, T = 2048, F = 256, K = 64;
  array<float, 3> x = noise(0, 1, B, T, F), dx = touched(B, T, F);
  array<float, 2> y = touched(B, F), dy = noise(-1, 1, B, F);
  array<std::int64_t, 2> ids{B, K};
  array<bool, 2> mask{B, T};
  std::vector<double> times = std::vector<double>(B * T, 0), once = times;  // each row of x stands in its mean
  double distinct = 0;

  gathered_rows() {
    mask.fill(false);
    for (std::int64_t r = 0; r < B; ++r)
      for (std::int64_t c = 0; c < K; ++c) {
        const auto id = static_cast<std::int64_t>(bits_at(static_cast<std::uint64_t>(r * K + c)) % T);
        ids(r, c) = id;
        times[static_cast<std::size_t>(r * T + id)] += 1;
        distinct += mask(r, id) ? 0 : 1;
        mask(r, id) = true;
        once[static_cast<std::size_t>(r * T + id)] = 1;
      }
    for (std::int64_t r = 0; r < B; ++r) {
      double of_times = 0, of_once = 0;
      for (std::int64_t c = r * T; c < (r + 1) * T; ++c)
        of_times += times[static_cast<std::size_t>(c)], of_once += once[static_cast<std::size_t>(c)];
      for (std::int64_t c = r * T; c < (r + 1) * T; ++c)
        times[static_cast<std::size_t>(c)] /= of_times, once[static_cast<std::size_t>(c)] /= of_once;
    }
  }
  // Rows of x that are named, each once, whatever the form; and what names them.
  template <class Names>
  traffic forward(const Names& names) const {
    return traffic{distinct * F * 4, 0} + reads(names) + writes(y);
  }
  double error(const std::vector<double>& share) const {
    return error_of(y, F, [&](std::int64_t r, double* want) {
      std::fill(want, want + F, 0.0);
      for (std::int64_t c = 0; c < T; ++c)
        if (const double w = share[static_cast<std::size_t>(r * T + c)]; w != 0)
          for (std::int64_t v = 0; v < F; ++v) want[v] += w * static_cast<double>(x(r, c, v));
    });
  }
  double gradient_error(const std::vector<double>& share) const {
    return error_of(dx, F, [&](std::int64_t row, double* want) {
      for (std::int64_t v = 0; v < F; ++v)
        want[v] = share[static_cast<std::size_t>(row)] * static_cast<double>(dy(row / T, v));
    });
  }
};

}  // namespace sheaf::bench
