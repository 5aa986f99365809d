// W5, W6, W12. Along axis 0 a thread has columns, a strip of them at a time, and reads rows in order.
#include <cfloat>
#include <cmath>

#include "../kernels.hpp"

namespace loops {
namespace {

constexpr std::int64_t strip = 1024;

// body(first column), for strips of columns on all threads.
template <class Body>
void in_strips(std::int64_t n, Body body) {
#pragma omp parallel for
  for (std::int64_t c = 0; c < n; c += strip) body(c);
}
template <class Body>
void in_rows(std::int64_t n, Body body) {
#pragma omp parallel for
  for (std::int64_t r = 0; r < n; ++r) body(r);
}

}  // namespace

void mean0(in x, in dy, out y, out dx, std::int64_t n) {
  const float share = 1.0f / static_cast<float>(n);
  in_strips(n, [=](std::int64_t c) {
    float sum[strip] = {};
    for (std::int64_t r = 0; r < n; ++r)
#pragma omp simd
      for (std::int64_t k = 0; k < strip; ++k) sum[k] += x[r * n + c + k];
    for (std::int64_t k = 0; k < strip; ++k) y[c + k] = sum[k] * share;
  });
  if (dx == nullptr) return;
  in_rows(n, [=](std::int64_t r) {
#pragma omp simd
    for (std::int64_t c = 0; c < n; ++c) dx[r * n + c] = dy[c] * share;
  });
}

void mean1(in x, in dy, out y, out dx, std::int64_t n) {
  const float share = 1.0f / static_cast<float>(n);
  in_rows(n, [=](std::int64_t r) {
    in row = x + r * n;
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t c = 0; c < n; ++c) sum += row[c];
    y[r] = sum * share;
    if (dx == nullptr) return;
    out to = dx + r * n;
    const float value = dy[r] * share;
#pragma omp simd
    for (std::int64_t c = 0; c < n; ++c) to[c] = value;
  });
}

float mean_square(in x, out dx, std::int64_t n) {
  double total = 0;
  const float scale = 2.0f / static_cast<float>(n * n);
#pragma omp parallel for reduction(+ : total)
  for (std::int64_t r = 0; r < n; ++r) {
    in row = x + r * n;
    float sum = 0;
    if (dx == nullptr) {
#pragma omp simd reduction(+ : sum)
      for (std::int64_t c = 0; c < n; ++c) sum += (row[c] - 1) * (row[c] - 1);
    } else {
      out to = dx + r * n;
#pragma omp simd reduction(+ : sum)
      for (std::int64_t c = 0; c < n; ++c) {
        const float d = row[c] - 1;
        sum += d * d;
        to[c] = d * scale;
      }
    }
    total += static_cast<double>(sum);
  }
  return static_cast<float>(total / static_cast<double>(n * n));
}

void logsumexp0(in x, in dy, out y, out dx, std::int64_t n) {
  in_strips(n, [=](std::int64_t c) {
    float most[strip], sum[strip] = {};
    for (std::int64_t k = 0; k < strip; ++k) most[k] = -FLT_MAX;
    for (std::int64_t r = 0; r < n; ++r)
#pragma omp simd
      for (std::int64_t k = 0; k < strip; ++k) most[k] = std::fmax(most[k], x[r * n + c + k]);
    for (std::int64_t r = 0; r < n; ++r)
#pragma omp simd
      for (std::int64_t k = 0; k < strip; ++k) sum[k] += std::exp(x[r * n + c + k] - most[k]);
    for (std::int64_t k = 0; k < strip; ++k) y[c + k] = most[k] + std::log(sum[k]);
    if (dx == nullptr) return;
    for (std::int64_t r = 0; r < n; ++r)
#pragma omp simd
      for (std::int64_t k = 0; k < strip; ++k) dx[r * n + c + k] = dy[c + k] * std::exp(x[r * n + c + k] - y[c + k]);
  });
}

void logsumexp1(in x, in dy, out y, out dx, std::int64_t n) {
  in_rows(n, [=](std::int64_t r) {
    in row = x + r * n;
    float most = -FLT_MAX, sum = 0;
#pragma omp simd reduction(max : most)
    for (std::int64_t c = 0; c < n; ++c) most = std::fmax(most, row[c]);
#pragma omp simd reduction(+ : sum)
    for (std::int64_t c = 0; c < n; ++c) sum += std::exp(row[c] - most);
    const float total = y[r] = most + std::log(sum);
    if (dx == nullptr) return;
    const float d = dy[r];
#pragma omp simd
    for (std::int64_t c = 0; c < n; ++c) dx[r * n + c] = d * std::exp(row[c] - total);
  });
}

void var0(in x, in dy, out y, out dx, std::int64_t n) {
  const float share = 1.0f / static_cast<float>(n), unbiased = 1.0f / static_cast<float>(n - 1);
  in_strips(n, [=](std::int64_t c) {
    float centre[strip] = {}, sum[strip] = {};
    for (std::int64_t r = 0; r < n; ++r)
#pragma omp simd
      for (std::int64_t k = 0; k < strip; ++k) centre[k] += x[r * n + c + k];
    for (std::int64_t k = 0; k < strip; ++k) centre[k] *= share;
    for (std::int64_t r = 0; r < n; ++r) {
#pragma omp simd
      for (std::int64_t k = 0; k < strip; ++k) {
        const float d = x[r * n + c + k] - centre[k];
        sum[k] += d * d;
      }
      if (dx == nullptr) continue;
#pragma omp simd
      for (std::int64_t k = 0; k < strip; ++k)
        dx[r * n + c + k] = 2 * unbiased * dy[c + k] * (x[r * n + c + k] - centre[k]);
    }
    for (std::int64_t k = 0; k < strip; ++k) y[c + k] = sum[k] * unbiased;
  });
}

void var1(in x, in dy, out y, out dx, std::int64_t n) {
  const float share = 1.0f / static_cast<float>(n), unbiased = 1.0f / static_cast<float>(n - 1);
  in_rows(n, [=](std::int64_t r) {
    in row = x + r * n;
    float centre = 0, sum = 0;
#pragma omp simd reduction(+ : centre)
    for (std::int64_t c = 0; c < n; ++c) centre += row[c];
    centre *= share;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t c = 0; c < n; ++c) sum += (row[c] - centre) * (row[c] - centre);
    y[r] = sum * unbiased;
    if (dx == nullptr) return;
    const float scale = 2 * unbiased * dy[r];
#pragma omp simd
    for (std::int64_t c = 0; c < n; ++c) dx[r * n + c] = scale * (row[c] - centre);
  });
}

void norm0(in x, in dy, out y, out dx, std::int64_t n) {
  in_strips(n, [=](std::int64_t c) {
    float sum[strip] = {};
    for (std::int64_t r = 0; r < n; ++r)
#pragma omp simd
      for (std::int64_t k = 0; k < strip; ++k) sum[k] += x[r * n + c + k] * x[r * n + c + k];
    for (std::int64_t k = 0; k < strip; ++k) y[c + k] = std::sqrt(sum[k]);
    if (dx == nullptr) return;
    for (std::int64_t k = 0; k < strip; ++k) sum[k] = dy[c + k] / y[c + k];
    for (std::int64_t r = 0; r < n; ++r)
#pragma omp simd
      for (std::int64_t k = 0; k < strip; ++k) dx[r * n + c + k] = x[r * n + c + k] * sum[k];
  });
}

void norm1(in x, in dy, out y, out dx, std::int64_t n) {
  in_rows(n, [=](std::int64_t r) {
    in row = x + r * n;
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t c = 0; c < n; ++c) sum += row[c] * row[c];
    y[r] = std::sqrt(sum);
    if (dx == nullptr) return;
    const float scale = dy[r] / y[r];
#pragma omp simd
    for (std::int64_t c = 0; c < n; ++c) dx[r * n + c] = row[c] * scale;
  });
}

void argmax0(in x, std::int64_t* y, std::int64_t n) {
  in_strips(n, [=](std::int64_t c) {
    float most[strip];
    std::int32_t where[strip] = {};
    for (std::int64_t k = 0; k < strip; ++k) most[k] = -FLT_MAX;
    for (std::int64_t r = 0; r < n; ++r)
#pragma omp simd
      for (std::int64_t k = 0; k < strip; ++k) {
        const float v = x[r * n + c + k];
        where[k] = v > most[k] ? static_cast<std::int32_t>(r) : where[k];
        most[k] = v > most[k] ? v : most[k];
      }
    for (std::int64_t k = 0; k < strip; ++k) y[c + k] = where[k];
  });
}

void argmax1(in x, std::int64_t* y, std::int64_t n) {
  in_rows(n, [=](std::int64_t r) {
    in row = x + r * n;
    float most = -FLT_MAX;
#pragma omp simd reduction(max : most)
    for (std::int64_t c = 0; c < n; ++c) most = std::fmax(most, row[c]);
    std::int64_t c = 0;
    while (row[c] != most) ++c;
    y[r] = c;
  });
}

}  // namespace loops
