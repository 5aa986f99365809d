// Inputs of the workloads, the same in every run, and what their results should be: loops in f64.
#pragma once
#include <cmath>
#include <cstdint>
#include <thread>
#include <vector>

#include <sheaf/runtime/thread_pool.hpp>
#include <sheaf/sheaf.hpp>

namespace sheaf::bench {

// splitmix64 by position: any part can be filled by itself.
inline std::uint64_t bits_at(std::uint64_t position) {
  std::uint64_t z = (position + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}
inline double uniform_at(std::uint64_t position) { return static_cast<double>(bits_at(position) >> 11) * 0x1p-53; }

// body(first, last) on all threads, over parts of [0, count).
template <class Body>
void in_parts(std::int64_t count, Body body) {
  const int threads = current_parallel_hook().threads;
  std::vector<std::thread> others;
  for (int k = 1; k < threads; ++k) others.emplace_back([=] { body(count * k / threads, count * (k + 1) / threads); });
  body(std::int64_t{0}, count / threads);
  for (std::thread& one : others) one.join();
}

// Uniform values in [low, high).
template <class... Extent>
auto noise(double low, double high, Extent... extent) {
  array<float, sizeof...(Extent)> a(extent...);
  float* to = a.data();
  in_parts(a.size(), [=](std::int64_t first, std::int64_t last) {
    for (std::int64_t k = first; k < last; ++k)
      to[k] = static_cast<float>(low + (high - low) * uniform_at(static_cast<std::uint64_t>(k)));
  });
  return a;
}
template <class... Extent>
auto touched(Extent... extent) {
  array<float, sizeof...(Extent)> a(uninitialized, extent...);
  a.fill(1);
  return a;
}

// The largest difference from `want`, relative to the largest magnitude wanted. fill(r, row) writes the wanted row r.
template <class T, int Rank, class Fill>
double error_of(const array<T, Rank>& got, std::int64_t width, Fill fill) {
  const std::int64_t rows = got.size() / width;
  std::vector<double> apart(static_cast<std::size_t>(rows)), size(static_cast<std::size_t>(rows));
  const T* from = got.data();
  in_parts(rows, [&, from](std::int64_t first, std::int64_t last) {
    std::vector<double> want(static_cast<std::size_t>(width));
    for (std::int64_t r = first; r < last; ++r) {
      fill(r, want.data());
      double difference = 0, magnitude = 0;
      for (std::int64_t k = 0; k < width; ++k) {
        const double own = std::abs(static_cast<double>(from[r * width + k]) - want[static_cast<std::size_t>(k)]);
        if (!(own <= difference)) difference = own;  // NaN stays
        magnitude = std::max(magnitude, std::abs(want[static_cast<std::size_t>(k)]));
      }
      apart[static_cast<std::size_t>(r)] = difference;
      size[static_cast<std::size_t>(r)] = magnitude;
    }
  });
  double difference = 0, magnitude = 0;
  for (std::size_t r = 0; r < apart.size(); ++r) {
    if (!(apart[r] <= difference)) difference = apart[r];
    magnitude = std::max(magnitude, size[r]);
  }
  return difference / (magnitude > 0 ? magnitude : 1);
}
// The same of an array that is one row, wanted as a vector.
template <class T, int Rank>
double error_of(const array<T, Rank>& got, const std::vector<double>& want) {
  return error_of(got, got.size(), [&](std::int64_t, double* row) { std::copy(want.begin(), want.end(), row); });
}

}  // namespace sheaf::bench
