// The data of W11, and what it should come to.
#pragma once
#include "data.hpp"
#include "session.hpp"

namespace sheaf::bench {

struct segmented_list {
  static constexpr std::int64_t elements = std::int64_t{1} << 22;
  array<float, 1> x = noise(-4, 4, elements), y = touched(elements), dy = noise(-1, 1, elements),
                  dx = touched(elements);
  array<std::int64_t, 1> off;
  array<float, 1> means, dmeans;
  std::vector<std::int64_t> segment_of = std::vector<std::int64_t>(elements);
  std::vector<double> sums, log_totals, along;

  segmented_list() {
    std::vector<std::int64_t> ends = {0};
    while (ends.back() < elements)
      ends.push_back(std::min(elements, ends.back() + 1 + static_cast<std::int64_t>(bits_at(ends.size()) % 10000)));
    off = array<std::int64_t, 1>(static_cast<std::int64_t>(ends.size()));
    std::copy(ends.begin(), ends.end(), off.data());
    const std::int64_t count = off.size() - 1;
    means = touched(count);
    dmeans = noise(-1, 1, count);
    for (std::int64_t k = 0; k < count; ++k) {
      double sum = 0, exps = 0, inner = 0;
      for (std::int64_t n = off(k); n < off(k + 1); ++n) {
        segment_of[at(n)] = k;
        sum += value(n);
        exps += std::exp(value(n));
      }
      for (std::int64_t n = off(k); n < off(k + 1); ++n)
        inner += static_cast<double>(dy(n)) * std::exp(value(n)) / exps;
      sums.push_back(sum);
      log_totals.push_back(std::log(exps));
      along.push_back(inner);
    }
  }
  static std::size_t at(std::int64_t k) { return static_cast<std::size_t>(k); }
  double value(std::int64_t n) const { return static_cast<double>(x(n)); }
  double size(std::int64_t k) const { return static_cast<double>(off(k + 1) - off(k)); }
  double form(std::int64_t n) const { return std::exp(value(n) - log_totals[at(segment_of[at(n)])]); }

  double mean_error() const {
    return error_of(means, 1, [this](std::int64_t k, double* want) { *want = sums[at(k)] / size(k); });
  }
  double mean_gradient_error() const {
    return error_of(dx, 1, [this](std::int64_t n, double* want) {
      const std::int64_t k = segment_of[at(n)];
      *want = static_cast<double>(dmeans(k)) / size(k);
    });
  }
  double soft_error() const {
    return error_of(y, 1, [this](std::int64_t n, double* want) { *want = form(n); });
  }
  double soft_gradient_error() const {
    return error_of(dx, 1, [this](std::int64_t n, double* want) {
      *want = form(n) * (static_cast<double>(dy(n)) - along[at(segment_of[at(n)])]);
    });
  }
};

}  // namespace sheaf::bench
