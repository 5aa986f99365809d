// The data of W3, W4 and overlap, and what they should come to.
#pragma once
#include "data.hpp"
#include "session.hpp"

namespace sheaf::bench {

struct slices {
  static constexpr std::int64_t T = 262144, F = 128;
  array<float, 2> x = noise(0, 1, T, F), dx = touched(T, F), y, dy;
  array<std::int64_t, 2> cut;
  explicit slices(std::int64_t count) : y(touched(count, F)), dy(noise(-1, 1, count, F)), cut(count, std::int64_t{2}) {}

  // Lengths of half to one and a half of `about`, one slice after the other.
  void side_by_side(std::int64_t about) {
    std::int64_t at = 0;
    for (std::int64_t k = 0; k < y.extent(0); ++k) {
      cut(k, 0) = std::min(at, T - 1);
      at += length(k, about);
      cut(k, 1) = at = std::min(at, T);
    }
  }
  // Anywhere, in no order.
  void anywhere(std::int64_t about) {
    for (std::int64_t k = 0; k < y.extent(0); ++k) {
      const std::int64_t size = length(k, about);
      const auto from = bits_at(static_cast<std::uint64_t>(y.extent(0) + k)) % static_cast<std::uint64_t>(T - size + 1);
      cut(k, 0) = static_cast<std::int64_t>(from);
      cut(k, 1) = cut(k, 0) + size;
    }
  }
  static std::int64_t length(std::int64_t k, std::int64_t about) {
    return about / 2 +
           static_cast<std::int64_t>(bits_at(static_cast<std::uint64_t>(k)) % static_cast<std::uint64_t>(about));
  }

  // Rows of x that a slice has, each once.
  traffic forward() const {
    std::vector<int> covers(T + 1, 0);
    for (std::int64_t k = 0; k < y.extent(0); ++k)
      ++covers[static_cast<std::size_t>(cut(k, 0))], --covers[static_cast<std::size_t>(cut(k, 1))];
    double rows = 0;
    for (std::int64_t r = 0, open = 0; r < T; ++r) rows += (open += covers[static_cast<std::size_t>(r)]) > 0 ? 1 : 0;
    return traffic{rows * F * 4, 0} + reads(cut) + writes(y);
  }
  traffic both() const { return forward() + reads(dy) + writes(dx); }

  // By running sums in f64: 1e-12 is far below what is measured.
  double error() const {
    std::vector<double> before(static_cast<std::size_t>((T + 1) * F), 0);
    in_parts(F, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t r = 0; r < T; ++r)
        for (std::int64_t v = first; v < last; ++v)
          before[static_cast<std::size_t>((r + 1) * F + v)] =
              before[static_cast<std::size_t>(r * F + v)] + static_cast<double>(x(r, v));
    });
    return error_of(y, F, [&](std::int64_t k, double* want) {
      const auto size = static_cast<double>(cut(k, 1) - cut(k, 0));
      for (std::int64_t v = 0; v < F; ++v)
        want[v] = (before[static_cast<std::size_t>(cut(k, 1) * F + v)] -
                   before[static_cast<std::size_t>(cut(k, 0) * F + v)]) /
                  size;
    });
  }
  double gradient_error() const {
    std::vector<double> change(static_cast<std::size_t>((T + 1) * F), 0);
    for (std::int64_t k = 0; k < y.extent(0); ++k) {
      const auto size = static_cast<double>(cut(k, 1) - cut(k, 0));
      for (std::int64_t v = 0; v < F; ++v) {
        change[static_cast<std::size_t>(cut(k, 0) * F + v)] += static_cast<double>(dy(k, v)) / size;
        change[static_cast<std::size_t>(cut(k, 1) * F + v)] -= static_cast<double>(dy(k, v)) / size;
      }
    }
    for (std::int64_t r = 1; r < T; ++r)
      for (std::int64_t v = 0; v < F; ++v)
        change[static_cast<std::size_t>(r * F + v)] += change[static_cast<std::size_t>((r - 1) * F + v)];
    return error_of(dx, F, [&](std::int64_t r, double* want) { std::copy_n(change.data() + r * F, F, want); });
  }
};

}  // namespace sheaf::bench
