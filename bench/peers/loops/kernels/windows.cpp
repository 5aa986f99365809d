// W7, W13.
#include <algorithm>
#include <cfloat>
#include <vector>

#include "../kernels.hpp"

namespace loops {
namespace {

// tall[v] for -1 <= v <= 2n - 1: the fold of the three rows of a plane that window row r has.
template <class Fold>
void fold_rows(in plane, float* tall, std::int64_t r, std::int64_t n, float identity, Fold fold) {
  const std::int64_t w = 2 * n;
  in middle = plane + 2 * r * w, below = middle + w;
  tall[-1] = identity;
  if (r > 0) {
    in above = middle - w;
#pragma omp simd
    for (std::int64_t v = 0; v < w; ++v) tall[v] = fold(fold(above[v], middle[v]), below[v]);
  } else {
#pragma omp simd
    for (std::int64_t v = 0; v < w; ++v) tall[v] = fold(middle[v], below[v]);
  }
}

void average_gradient(in dy, out dx, float* both, std::int64_t n) {
  const std::int64_t w = 2 * n;
  for (std::int64_t u = 0; u < w; ++u) {  // row u is in window row u / 2, and in the next where u is odd
    in first = dy + u / 2 * n, second = u % 2 == 1 && u / 2 + 1 < n ? first + n : nullptr;
#pragma omp simd
    for (std::int64_t c = 0; c < n; ++c) both[c] = (second == nullptr ? first[c] : first[c] + second[c]) / 9;
    both[n] = 0;
#pragma omp simd
    for (std::int64_t c = 0; c < n; ++c) {
      dx[u * w + 2 * c] = both[c];
      dx[u * w + 2 * c + 1] = both[c] + both[c + 1];
    }
  }
}

// To the first of the largest, as PyTorch does.
void maximum_gradient(in plane, in dy, out dx, std::int64_t n) {
  const std::int64_t w = 2 * n;
  std::fill(dx, dx + w * w, 0.0f);
  for (std::int64_t r = 0; r < n; ++r)
    for (std::int64_t c = 0; c < n; ++c) {
      std::int64_t best = 2 * r * w + 2 * c;
      float most = -FLT_MAX;
      for (std::int64_t u = std::max<std::int64_t>(0, 2 * r - 1); u < 2 * r + 2; ++u)
        for (std::int64_t v = std::max<std::int64_t>(0, 2 * c - 1); v < 2 * c + 2; ++v)
          if (plane[u * w + v] > most) most = plane[best = u * w + v];
      dx[best] += dy[r * n + c];
    }
}

template <class Fold, class Finish, class Gradient>
void pool(in x, out y, std::int64_t planes, std::int64_t n, float identity, Fold fold, Finish finish,
          Gradient gradient) {
#pragma omp parallel
  {
    std::vector<float> line(static_cast<std::size_t>(2 * n + 1));
    float* tall = line.data() + 1;
#pragma omp for
    for (std::int64_t p = 0; p < planes; ++p) {
      for (std::int64_t r = 0; r < n; ++r) {
        fold_rows(x + p * 4 * n * n, tall, r, n, identity, fold);
        out to = y + (p * n + r) * n;
#pragma omp simd
        for (std::int64_t c = 0; c < n; ++c) to[c] = finish(fold(fold(tall[2 * c - 1], tall[2 * c]), tall[2 * c + 1]));
      }
      gradient(p, line.data());
    }
  }
}

// The running sum over [t - back, t + ahead] inside [0, n), for t of one part of [0, results).
void running_mean(in x, out y, std::int64_t results, std::int64_t n, std::int64_t back, std::int64_t ahead,
                  std::int64_t width) {
  const double share = 1.0 / static_cast<double>(width);
#pragma omp parallel for
  for (std::int64_t part = 0; part < 64; ++part) {
    const std::int64_t first = results * part / 64, last = results * (part + 1) / 64;
    double sum = 0;
    for (std::int64_t u = std::max<std::int64_t>(0, first - back); u < std::min(n, first + ahead); ++u)
      sum += static_cast<double>(x[u]);
    for (std::int64_t t = first; t < last; ++t) {
      if (t + ahead < n) sum += static_cast<double>(x[t + ahead]);
      y[t] = static_cast<float>(sum * share);
      if (t >= back) sum -= static_cast<double>(x[t - back]);
    }
  }
}

}  // namespace

void average_pool(in x, in dy, out y, out dx, std::int64_t planes, std::int64_t n) {
  pool(
      x, y, planes, n, 0, [](float a, float b) { return a + b; }, [](float a) { return a / 9; },
      [=](std::int64_t p, float* line) {
        if (dx != nullptr) average_gradient(dy + p * n * n, dx + p * 4 * n * n, line, n);
      });
}
void maximum_pool(in x, in dy, out y, out dx, std::int64_t planes, std::int64_t n) {
  pool(
      x, y, planes, n, -FLT_MAX, [](float a, float b) { return a > b ? a : b; }, [](float a) { return a; },
      [=](std::int64_t p, float*) {
        if (dx != nullptr) maximum_gradient(x + p * 4 * n * n, dy + p * n * n, dx + p * 4 * n * n, n);
      });
}

void window_mean(in x, in dy, out y, out dx, std::int64_t n, std::int64_t width) {
  running_mean(x, y, n - width + 1, n, 0, width - 1, width);
  if (dx != nullptr) running_mean(dy, dx, n, n - width + 1, width - 1, 0, width);
}

}  // namespace loops
