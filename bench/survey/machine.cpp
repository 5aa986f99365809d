// See machine.hpp.
#include "machine.hpp"

#include <dlfcn.h>

#include <cstring>
#include <ctime>
#include <fstream>
#include <functional>

#include <support/bandwidth.hpp>
#include <support/measure.hpp>

namespace sheaf::bench {

namespace {
bool one_thread = false;

double fastest(int repeats, const std::function<void()>& work) {
  double best = 1e9;
  for (int k = 0; k < repeats; ++k) {
    const double start = own_seconds();
    work();
    best = std::min(best, own_seconds() - start);
  }
  return best;
}
}  // namespace

void use_threads(int count) { one_thread = count == 1; }
bool is_one_thread() { return one_thread; }
double own_seconds() {
  timespec t{};
  clock_gettime(one_thread ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

const char* bounds::which() const {
  const double most = all() - start_up;
  return bytes == most ? "bytes" : updates == most ? "updates" : functions > arithmetic ? "functions" : "arithmetic";
}

const char* machine::text() {
  return R"(
#if defined __AVX512F__
constexpr int width = 16;
#elif defined __AVX__
constexpr int width = 8;
#else
constexpr int width = 4;
#endif
extern "C" void peak_arithmetic(float* x, long n) {  // 12 x 16 x n products that are added, in registers
#pragma omp parallel for
  for (long part = 0; part < 64; ++part) {
    typedef float wide __attribute__((vector_size(4 * width)));
    wide s[12] = {}, a, b;
    for (int k = 0; k < width; ++k) a[k] = x[k], b[k] = x[16 + k];
    for (int k = 0; k < 12; ++k) asm volatile("" : "+x"(s[k]));  // else all are one sum
    for (long i = 0; i < n * 16 / width; ++i) {
      asm volatile("" : "+x"(a));
      for (int k = 0; k < 12; ++k) s[k] += a * b;
    }
    for (int k = 1; k < 12; ++k) s[0] += s[k];
    std::memcpy(x + 16 * part, &s[0], sizeof(wide));
  }
}
#define FUNCTION(name, e)                                       \
  extern "C" void peak_##name(float* __restrict x, long n) {    \
    _Pragma("omp parallel for") for (long r = 0; r < n; ++r) {  \
      float* __restrict y = x + 2048 + r % 64 * 1024;           \
      for (long i = 0; i < 1024; ++i) { const float v = x[i]; y[i] = e; } \
    }                                                           \
  }
FUNCTION(div, 1 / v) FUNCTION(exp, std::exp(v)) FUNCTION(log, std::log(v)) FUNCTION(log1p, std::log1p(v))
FUNCTION(expm1, std::expm1(v)) FUNCTION(tanh, std::tanh(v)) FUNCTION(sigmoid, sigmoid(v)) FUNCTION(erf, std::erf(v))
FUNCTION(sin, std::sin(v)) FUNCTION(cos, std::cos(v)) FUNCTION(atan, std::atan(v)) FUNCTION(pow, std::pow(v, 1.7f))
extern "C" void peak_updates(float* __restrict table, const int* __restrict at, long n) {
  for (long i = 0; i < n; ++i) table[at[i]] += 1;
}
)";
}

machine::machine(void* library) {
  std::vector<float> x(2048 + 64 * 1024, 0.5f);
  using loop = void (*)(float*, long);
  const auto found = [&](const std::string& name) {
    return reinterpret_cast<loop>(dlsym(library, ("peak_" + name).c_str()));
  };
  const auto each = [&](const std::string& name, long n, double count) {
    return fastest(7, [&] { found(name)(x.data(), n); }) / count;
  };
  arithmetic_ = each("arithmetic", 4000, 64 * 4000.0 * 12 * 16);
  std::fill(x.begin(), x.end(), 0.5f);
  division_ = each("div", 2048, 2048 * 1024.0);
  const double usual = each("exp", 2048, 2048 * 1024.0);
  for (int k = 0; k < 64; ++k) functions_[k] = usual;
  for (const op kind :
       {op::exp, op::log, op::log1p, op::expm1, op::tanh, op::sigmoid, op::erf, op::sin, op::cos, op::atan, op::pow})
    functions_[static_cast<int>(kind) - static_cast<int>(op::neg)] = each(row(kind).name, 2048, 2048 * 1024.0);
  std::vector<float> large(64 << 20, 1.0f);
  for (double bytes = 16384; bytes <= 256e6; bytes *= 4) {
    const auto n = static_cast<std::int64_t>(bytes / 4);
    const int times = static_cast<int>(std::max(1.0, 32e6 / bytes));
    const double seconds = fastest(5, [&] {
      for (int k = 0; k < times; ++k) read_pass(large.data(), n);
    });
    lines_.push_back({bytes, seconds / times / bytes * 64});
  }
  using updating = void (*)(float*, const int*, long);
  const auto update = reinterpret_cast<updating>(dlsym(library, "peak_updates"));
  std::vector<int> at(1 << 20);
  for (double bytes = 4096; bytes <= 64e6; bytes *= 8) {
    std::uint64_t state = 1;
    for (int& a : at)
      a = static_cast<int>((state = state * 6364136223846793005u + 1442695040888963407u) >> 33) %
          static_cast<int>(bytes / 4);
    const double seconds = fastest(3, [&] { update(large.data(), at.data(), static_cast<long>(at.size())); });
    updates_.push_back({bytes, seconds / static_cast<double>(at.size())});
  }
}

double machine::at(const std::vector<by_size>& list, double bytes) {
  for (const by_size& s : list)
    if (bytes <= s.bytes) return s.seconds;
  return list.back().seconds;
}

bounds machine::of(const work_counts& counts, double tables) const {
  bounds b;
  b.bytes = counts.lines * at(lines_, counts.lines * 64);
  b.arithmetic = counts.arithmetic * arithmetic_ + counts.divisions * division_;
  for (int k = 0; k < 64; ++k) b.functions += counts.functions[k] * functions_[k];
  b.updates = counts.updates * at(updates_, tables);
  return b;
}

void machine::write(std::FILE* to) const {
  std::fprintf(to, "%.9g %.9g", arithmetic_, division_);
  for (const double f : functions_) std::fprintf(to, " %.9g", f);
  for (const auto* list : {&lines_, &updates_}) {
    std::fprintf(to, " %zu", list->size());
    for (const by_size& s : *list) std::fprintf(to, " %.9g %.9g", s.bytes, s.seconds);
  }
}
machine machine::read(const std::string& file) {
  machine m;
  std::ifstream in(file);
  in >> m.arithmetic_ >> m.division_;
  for (double& f : m.functions_) in >> f;
  for (auto* list : {&m.lines_, &m.updates_}) {
    std::size_t n = 0;
    in >> n;
    list->resize(n);
    for (by_size& s : *list) in >> s.bytes >> s.seconds;
  }
  return m;
}

std::string machine::described() const {
  char line[400];
  std::snprintf(
      line, sizeof line,
      "multiply-adds %.1f G/s, divisions %.2f, exp %.2f, log %.2f, tanh %.2f G/s; reads of 64 kB %.1f, of 256 MB "
      "%.1f GB/s; updates of 4 kB %.2f, of 16 MB %.3f G/s",
      1e-9 / arithmetic_, 1e-9 / division_, 1e-9 / functions_[static_cast<int>(op::exp) - static_cast<int>(op::neg)],
      1e-9 / functions_[static_cast<int>(op::log) - static_cast<int>(op::neg)],
      1e-9 / functions_[static_cast<int>(op::tanh) - static_cast<int>(op::neg)], 64e-9 / at(lines_, 65536),
      64e-9 / at(lines_, 256e6), 1e-9 / at(updates_, 4096), 1e-9 / at(updates_, 16e6));
  return line;
}

}  // namespace sheaf::bench
