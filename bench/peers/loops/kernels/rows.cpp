// W8, W9.
#include <cfloat>
#include <cmath>

#include "../kernels.hpp"

namespace loops {

void layer_norm(in x, in w, in b, in dy, out y, out dx, out dw, out db, std::int64_t rows, std::int64_t n) {
  const float share = 1.0f / static_cast<float>(n);
  constexpr std::int64_t widest = 4096;
  float of_w[widest] = {}, of_b[widest] = {};
#pragma omp parallel for reduction(+ : of_w[ : n], of_b[ : n])
  for (std::int64_t r = 0; r < rows; ++r) {
    in row = x + r * n, d = dy + r * n;
    out to = y + r * n, back = dx == nullptr ? dx : dx + r * n;
    float centre = 0, squares = 0;
#pragma omp simd reduction(+ : centre)
    for (std::int64_t c = 0; c < n; ++c) centre += row[c];
    centre *= share;
#pragma omp simd reduction(+ : squares)
    for (std::int64_t c = 0; c < n; ++c) squares += (row[c] - centre) * (row[c] - centre);
    const float scale = 1 / std::sqrt(squares * share + 1e-5f);
#pragma omp simd
    for (std::int64_t c = 0; c < n; ++c) to[c] = (row[c] - centre) * scale * w[c] + b[c];
    if (dx == nullptr) continue;
    float total = 0, along = 0;
#pragma omp simd reduction(+ : total, along)
    for (std::int64_t c = 0; c < n; ++c) {
      const float form = (row[c] - centre) * scale;
      of_w[c] += d[c] * form;
      of_b[c] += d[c];
      total += d[c] * w[c];
      along += d[c] * w[c] * form;
    }
    total *= share;
    along *= share;
#pragma omp simd
    for (std::int64_t c = 0; c < n; ++c) back[c] = (d[c] * w[c] - total - (row[c] - centre) * scale * along) * scale;
  }
  if (dx == nullptr) return;
  for (std::int64_t c = 0; c < n; ++c) dw[c] = of_w[c], db[c] = of_b[c];
}

namespace {
float largest(in row, std::int64_t n) {
  float most = -FLT_MAX;
#pragma omp simd reduction(max : most)
  for (std::int64_t c = 0; c < n; ++c) most = std::fmax(most, row[c]);
  return most;
}
}  // namespace

void softmax(in x, in dy, out y, out dx, std::int64_t rows, std::int64_t n) {
#pragma omp parallel for
  for (std::int64_t r = 0; r < rows; ++r) {
    in row = x + r * n, d = dy + r * n;
    out to = y + r * n;
    const float most = largest(row, n);
    float sum = 0, along = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t c = 0; c < n; ++c) sum += to[c] = std::exp(row[c] - most);
    const float share = 1 / sum;
#pragma omp simd
    for (std::int64_t c = 0; c < n; ++c) to[c] *= share;
    if (dx == nullptr) continue;
#pragma omp simd reduction(+ : along)
    for (std::int64_t c = 0; c < n; ++c) along += to[c] * d[c];
    out back = dx + r * n;
#pragma omp simd
    for (std::int64_t c = 0; c < n; ++c) back[c] = to[c] * (d[c] - along);
  }
}

float cross_entropy(in x, ids target, out dx, std::int64_t rows, std::int64_t n) {
  double total = 0;
  const float share = 1.0f / static_cast<float>(rows);
#pragma omp parallel for reduction(+ : total)
  for (std::int64_t r = 0; r < rows; ++r) {
    in row = x + r * n;
    const float most = largest(row, n);
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t c = 0; c < n; ++c) sum += std::exp(row[c] - most);
    const float log_total = most + std::log(sum);
    total += static_cast<double>(log_total - row[target[r]]);
    if (dx == nullptr) continue;
    out back = dx + r * n;
#pragma omp simd
    for (std::int64_t c = 0; c < n; ++c) back[c] = std::exp(row[c] - log_total) * share;
    back[target[r]] -= share;
  }
  return static_cast<float>(total / static_cast<double>(rows));
}

}  // namespace loops
