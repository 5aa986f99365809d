// W10, W11.
#include <omp.h>
#include <cfloat>
#include <cmath>
#include <cstring>

#include "../kernels.hpp"

namespace loops {
namespace {

void clear(out to, std::int64_t rows, std::int64_t width) {
#pragma omp parallel for
  for (std::int64_t r = 0; r < rows; ++r) std::memset(to + r * width, 0, static_cast<std::size_t>(width) * 4);
}

float share_of(const bags& b, std::int64_t k, std::int64_t n) {
  const float weight = b.weight == nullptr ? 1.0f : b.weight[n];
  return b.mean ? weight / static_cast<float>(b.off[k + 1] - b.off[k]) : weight;
}

}  // namespace

void bag_sum(const bags& b, in dy, out y, out dtable, out dweight) {
  const std::int64_t F = b.features;
#pragma omp parallel for schedule(dynamic, 16)
  for (std::int64_t k = 0; k < b.count; ++k) {
    out to = y + k * F;
    std::memset(to, 0, static_cast<std::size_t>(F) * 4);
    for (std::int64_t n = b.off[k]; n < b.off[k + 1]; ++n) {
      const float share = share_of(b, k, n);
      in row = b.table + b.id[n] * F;
#pragma omp simd
      for (std::int64_t f = 0; f < F; ++f) to[f] += share * row[f];
      if (dweight == nullptr) continue;
      float inner = 0;
#pragma omp simd reduction(+ : inner)
      for (std::int64_t f = 0; f < F; ++f) inner += dy[k * F + f] * row[f];
      dweight[n] = inner;
    }
  }
  if (dtable == nullptr) return;
  clear(dtable, b.words, F);
#pragma omp parallel
  {  // a thread has words, so that no two add to one
    const std::int64_t threads = omp_get_num_threads(), me = omp_get_thread_num();
    for (std::int64_t k = 0; k < b.count; ++k)
      for (std::int64_t n = b.off[k]; n < b.off[k + 1]; ++n) {
        if (b.id[n] % threads != me) continue;
        const float share = share_of(b, k, n);
        out row = dtable + b.id[n] * F;
#pragma omp simd
        for (std::int64_t f = 0; f < F; ++f) row[f] += share * dy[k * F + f];
      }
  }
}

void bag_max(const bags& b, in dy, out y, out dtable, std::int32_t* first) {
  const std::int64_t F = b.features;
#pragma omp parallel for schedule(dynamic, 16)
  for (std::int64_t k = 0; k < b.count; ++k) {
    out to = y + k * F;
    std::int32_t* where = first + k * F;
    for (std::int64_t f = 0; f < F; ++f) to[f] = -FLT_MAX, where[f] = 0;
    for (std::int64_t n = b.off[k]; n < b.off[k + 1]; ++n) {
      in row = b.table + b.id[n] * F;
      const auto id = static_cast<std::int32_t>(b.id[n]);
#pragma omp simd
      for (std::int64_t f = 0; f < F; ++f) {
        where[f] = row[f] > to[f] ? id : where[f];
        to[f] = row[f] > to[f] ? row[f] : to[f];
      }
    }
  }
  if (dtable == nullptr) return;
  clear(dtable, b.words, F);
#pragma omp parallel
  {  // a thread has columns
    const std::int64_t threads = omp_get_num_threads(), me = omp_get_thread_num();
    for (std::int64_t k = 0; k < b.count; ++k)
      for (std::int64_t f = F * me / threads; f < F * (me + 1) / threads; ++f)
        dtable[first[k * F + f] * F + f] += dy[k * F + f];
  }
}

void segment_mean(in x, ids off, in dy, out y, out dx, std::int64_t segments) {
#pragma omp parallel for schedule(dynamic, 8)
  for (std::int64_t s = 0; s < segments; ++s) {
    const float share = 1.0f / static_cast<float>(off[s + 1] - off[s]);
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t n = off[s]; n < off[s + 1]; ++n) sum += x[n];
    y[s] = sum * share;
    if (dx == nullptr) continue;
    const float d = dy[s] * share;
#pragma omp simd
    for (std::int64_t n = off[s]; n < off[s + 1]; ++n) dx[n] = d;
  }
}

void segment_softmax(in x, ids off, in dy, out y, out dx, std::int64_t segments) {
#pragma omp parallel for schedule(dynamic, 8)
  for (std::int64_t s = 0; s < segments; ++s) {
    const std::int64_t first = off[s], last = off[s + 1];
    float most = -FLT_MAX, sum = 0, along = 0;
#pragma omp simd reduction(max : most)
    for (std::int64_t n = first; n < last; ++n) most = std::fmax(most, x[n]);
#pragma omp simd reduction(+ : sum)
    for (std::int64_t n = first; n < last; ++n) sum += y[n] = std::exp(x[n] - most);
    const float share = 1 / sum;
#pragma omp simd
    for (std::int64_t n = first; n < last; ++n) y[n] *= share;
    if (dx == nullptr) continue;
#pragma omp simd reduction(+ : along)
    for (std::int64_t n = first; n < last; ++n) along += y[n] * dy[n];
#pragma omp simd
    for (std::int64_t n = first; n < last; ++n) dx[n] = y[n] * (dy[n] - along);
  }
}

}  // namespace loops
