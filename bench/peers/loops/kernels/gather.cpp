// W1 to W4.
#include <omp.h>
#include <cstring>
#include <vector>

#include "../kernels.hpp"

namespace loops {

void gather_mean(in x, ids pick, in dy, out y, out dx, std::int64_t B, std::int64_t T, std::int64_t F, std::int64_t K) {
#pragma omp parallel for
  for (std::int64_t b = 0; b < B; ++b) {
    out to = y + b * F;
    const float share = 1.0f / static_cast<float>(K);
    std::memset(to, 0, static_cast<std::size_t>(F) * 4);
    for (std::int64_t k = 0; k < K; ++k) {
      in row = x + (b * T + pick[b * K + k]) * F;
#pragma omp simd
      for (std::int64_t f = 0; f < F; ++f) to[f] += row[f];
    }
#pragma omp simd
    for (std::int64_t f = 0; f < F; ++f) to[f] *= share;
    if (dx == nullptr) continue;
    std::memset(dx + b * T * F, 0, static_cast<std::size_t>(T * F) * 4);
    for (std::int64_t k = 0; k < K; ++k) {
      out row = dx + (b * T + pick[b * K + k]) * F;
      in from = dy + b * F;
#pragma omp simd
      for (std::int64_t f = 0; f < F; ++f) row[f] += from[f] * share;
    }
  }
}

namespace {
void kept_mean(in x, const bool* keep, in dy, out y, out dx, std::int64_t T, std::int64_t F) {
  std::memset(y, 0, static_cast<std::size_t>(F) * 4);
  std::int64_t count = 0;
  for (std::int64_t t = 0; t < T; ++t) {
    if (!keep[t]) continue;
    ++count;
    in row = x + t * F;
#pragma omp simd
    for (std::int64_t f = 0; f < F; ++f) y[f] += row[f];
  }
  const float share = 1.0f / static_cast<float>(count);
#pragma omp simd
  for (std::int64_t f = 0; f < F; ++f) y[f] *= share;
  if (dx == nullptr) return;
  for (std::int64_t t = 0; t < T; ++t) {
    out row = dx + t * F;
    if (!keep[t]) {
      std::memset(row, 0, static_cast<std::size_t>(F) * 4);
      continue;
    }
#pragma omp simd
    for (std::int64_t f = 0; f < F; ++f) row[f] = dy[f] * share;
  }
}
out at(out p, std::int64_t offset) { return p == nullptr ? p : p + offset; }
}  // namespace

void given_mean(in x, const bool* keep, in dy, out y, out dx, std::int64_t B, std::int64_t T, std::int64_t F) {
#pragma omp parallel for
  for (std::int64_t b = 0; b < B; ++b)
    kept_mean(x + b * T * F, keep + b * T, dy + b * F, y + b * F, at(dx, b * T * F), T, F);
}

void mask_mean(in x, ids pick, in dy, out y, out dx, std::int64_t B, std::int64_t T, std::int64_t F, std::int64_t K) {
#pragma omp parallel
  {
    const auto keep = new bool[static_cast<std::size_t>(T)];
#pragma omp for
    for (std::int64_t b = 0; b < B; ++b) {
      std::memset(keep, 0, static_cast<std::size_t>(T));
      for (std::int64_t k = 0; k < K; ++k) keep[pick[b * K + k]] = true;
      kept_mean(x + b * T * F, keep, dy + b * F, y + b * F, at(dx, b * T * F), T, F);
    }
    delete[] keep;
  }
}

// Slices that stand side by side own their rows; those that begin inside the one before add to them afterwards.
void slice_mean(in x, ids cut, in dy, out y, out dx, std::int64_t M, std::int64_t T, std::int64_t F) {
#pragma omp parallel for schedule(dynamic, 16)
  for (std::int64_t m = 0; m < M; ++m) {
    const std::int64_t first = cut[2 * m], last = cut[2 * m + 1], next = m + 1 < M ? cut[2 * m + 2] : T;
    const float share = 1.0f / static_cast<float>(last - first);
    out to = y + m * F;
    std::memset(to, 0, static_cast<std::size_t>(F) * 4);
    for (std::int64_t t = first; t < last; ++t)
#pragma omp simd
      for (std::int64_t f = 0; f < F; ++f) to[f] += x[t * F + f];
#pragma omp simd
    for (std::int64_t f = 0; f < F; ++f) to[f] *= share;
    if (dx == nullptr || (m > 0 && first < cut[2 * m - 1])) continue;
    for (std::int64_t t = first; t < last; ++t)
#pragma omp simd
      for (std::int64_t f = 0; f < F; ++f) dx[t * F + f] = dy[m * F + f] * share;
    if (next > last) std::memset(dx + last * F, 0, static_cast<std::size_t>((next - last) * F) * 4);
  }
  for (std::int64_t m = 1; dx != nullptr && m < M; ++m) {
    const std::int64_t first = cut[2 * m], last = cut[2 * m + 1];
    const float share = 1.0f / static_cast<float>(last - first);
    for (std::int64_t t = first; first < cut[2 * m - 1] && t < last; ++t)
#pragma omp simd
      for (std::int64_t f = 0; f < F; ++f) dx[t * F + f] += dy[m * F + f] * share;
  }
}

// Running sums in f64, and their differences: the work does not grow with the overlap. Each thread has its columns.
void overlap_mean(in x, ids cut, in dy, out y, out dx, double* before, std::int64_t M, std::int64_t T, std::int64_t F) {
#pragma omp parallel
  {
    const std::int64_t threads = omp_get_num_threads(), me = omp_get_thread_num();
    const std::int64_t f0 = F * me / threads, f1 = F * (me + 1) / threads;
    for (std::int64_t f = f0; f < f1; ++f) before[f] = 0;
    for (std::int64_t t = 0; t < T; ++t)
#pragma omp simd
      for (std::int64_t f = f0; f < f1; ++f)
        before[(t + 1) * F + f] = before[t * F + f] + static_cast<double>(x[t * F + f]);
    for (std::int64_t m = 0; m < M; ++m) {
      const double *low = before + cut[2 * m] * F, *high = before + cut[2 * m + 1] * F;
      const double share = 1.0 / static_cast<double>(cut[2 * m + 1] - cut[2 * m]);
#pragma omp simd
      for (std::int64_t f = f0; f < f1; ++f) y[m * F + f] = static_cast<float>((high[f] - low[f]) * share);
    }
    if (dx != nullptr) {
      for (std::int64_t t = 0; t <= T; ++t)
#pragma omp simd
        for (std::int64_t f = f0; f < f1; ++f) before[t * F + f] = 0;
      for (std::int64_t m = 0; m < M; ++m) {
        double *low = before + cut[2 * m] * F, *high = before + cut[2 * m + 1] * F;
        const double share = 1.0 / static_cast<double>(cut[2 * m + 1] - cut[2 * m]);
#pragma omp simd
        for (std::int64_t f = f0; f < f1; ++f) {
          low[f] += static_cast<double>(dy[m * F + f]) * share;
          high[f] -= static_cast<double>(dy[m * F + f]) * share;
        }
      }
      std::vector<double> sum(static_cast<std::size_t>(f1 - f0), 0.0);
      double* running = sum.data();
      for (std::int64_t t = 0; t < T; ++t)
#pragma omp simd
        for (std::int64_t f = f0; f < f1; ++f) dx[t * F + f] = static_cast<float>(running[f - f0] += before[t * F + f]);
    }
  }
}

}  // namespace loops
