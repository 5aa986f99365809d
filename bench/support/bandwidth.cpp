#include <sheaf/runtime/thread_pool.hpp>
#include <thread>
#include <vector>

#include <support/bandwidth.hpp>
#include <support/measure.hpp>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace sheaf::bench {

namespace {

volatile float sink;

#if defined(__x86_64__)
#define SHEAF_PASSES(name, target_name, vec, width, load, stream, zero, one, add)                           \
  __attribute__((target(target_name))) void read_##name(const float* from, std::int64_t count) {            \
    vec sum[8] = {zero(), zero(), zero(), zero(), zero(), zero(), zero(), zero()};                          \
    for (std::int64_t at = 0; at + 8 * width <= count; at += 8 * width)                                     \
      for (int k = 0; k < 8; ++k) sum[k] = add(sum[k], load(from + at + k * width));                        \
    for (int k = 1; k < 8; ++k) sum[0] = add(sum[0], sum[k]);                                               \
    sink = sum[0][0] + sum[0][width - 1];                                                                   \
  }                                                                                                         \
  __attribute__((target(target_name))) void write_##name(float* to, std::int64_t count) {                   \
    const vec ones = one(1.0f); /* some processors write lines of zeros twice as fast */                    \
    for (std::int64_t at = 0; at + width <= count; at += width) stream(to + at, ones);                      \
    _mm_sfence();                                                                                           \
  }                                                                                                         \
  __attribute__((target(target_name))) void copy_##name(const float* from, float* to, std::int64_t count) { \
    for (std::int64_t at = 0; at + width <= count; at += width) stream(to + at, load(from + at));           \
    _mm_sfence();                                                                                           \
  }
SHEAF_PASSES(wide, "avx512f", __m512, 16, _mm512_loadu_ps, _mm512_stream_ps, _mm512_setzero_ps, _mm512_set1_ps,
             _mm512_add_ps)
SHEAF_PASSES(narrow, "avx2", __m256, 8, _mm256_loadu_ps, _mm256_stream_ps, _mm256_setzero_ps, _mm256_set1_ps,
             _mm256_add_ps)
#undef SHEAF_PASSES
bool is_wide() { return __builtin_cpu_supports("avx512f"); }
#else
void read_narrow(const float* from, std::int64_t count) {
  float sum[32] = {};
  for (std::int64_t at = 0; at + 32 <= count; at += 32)
    for (int k = 0; k < 32; ++k) sum[k] += from[at + k];
  for (int k = 1; k < 32; ++k) sum[0] += sum[k];
  sink = sum[0];
}
void write_narrow(float* to, std::int64_t count) { std::fill(to, to + count, 1.0f); }
void copy_narrow(const float* from, float* to, std::int64_t count) { std::copy(from, from + count, to); }
constexpr auto read_wide = read_narrow;
constexpr auto write_wide = write_narrow;
constexpr auto copy_wide = copy_narrow;
bool is_wide() { return false; }
#endif

// Each thread takes one contiguous part. Starting one costs some 50 us: little beside a pass over hundreds of
// megabytes.
template <class Part>
double on_all_threads(std::int64_t count, Part part) {
  const int threads = current_parallel_hook().threads;
  const std::int64_t each = count / threads / 128 * 128;
  return seconds_of([&] {
    std::vector<std::thread> others;
    for (int k = 1; k < threads; ++k)
      others.emplace_back([=] { part(k * each, k == threads - 1 ? count - k * each : each); });
    part(0, threads == 1 ? count : each);
    for (std::thread& one : others) one.join();
  });
}

}  // namespace

double read_pass(const float* from, std::int64_t count) {
  return on_all_threads(
      count, [=](std::int64_t first, std::int64_t n) { (is_wide() ? read_wide : read_narrow)(from + first, n); });
}
double write_pass(float* to, std::int64_t count) {
  return on_all_threads(
      count, [=](std::int64_t first, std::int64_t n) { (is_wide() ? write_wide : write_narrow)(to + first, n); });
}
double copy_pass(const float* from, float* to, std::int64_t count) {
  return on_all_threads(count, [=](std::int64_t first, std::int64_t n) {
    (is_wide() ? copy_wide : copy_narrow)(from + first, to + first, n);
  });
}
const char* vector_width() { return is_wide() ? "512-bit" : "256-bit or narrower"; }

}  // namespace sheaf::bench
