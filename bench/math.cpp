// Vector math: Sheaf's own functions beside libmvec and SLEEF, for the table of docs/math.md. Of each: nanoseconds an
// element over
// 4096 numbers in the nearest cache, the largest error in units of the last place against long double over 2 million
// numbers, and whether AVX2 and AVX-512 give the same bits. The libraries are opened where they are installed, else
// left out. bench_math prints lines "math FUNCTION TYPE LIBRARY ns ulp same".
#include <dlfcn.h>
#include <immintrin.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <thread>

#include <sheaf/sheaf.hpp>
#include <support/measure.hpp>

namespace {
using namespace sheaf;
using namespace sheaf::bench;

constexpr std::int64_t in_cache = 4096, all = 1 << 21;
constexpr auto i = axis<"i">;

template <class T>
struct samples {
  std::vector<T> x, y;  // y: exponents
};

// What a function usually is given: its interesting range, and a tenth of numbers of any size.
template <class T>
samples<T> samples_for(const std::string& name) {
  std::mt19937_64 random(11);
  const auto unit = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
  const double top = std::numeric_limits<T>::max_exponent * std::log(2.0);
  samples<T> s;
  for (std::int64_t n = 0; n < all; ++n) {
    double x = (2 * unit() - 1) * 20;
    if (name == "exp" || name == "expm1") x = (2 * unit() - 1) * top * (n % 4 == 0 ? 1 : 0.02);
    if (name == "log" || name == "pow") x = n % 4 == 0 ? std::exp((2 * unit() - 1) * top * 0.99) : 4 * unit();
    if (name == "log1p") x = n % 4 == 0 ? std::exp((2 * unit() - 1) * top * 0.9) : 2 * unit() - 0.9;
    if (name == "erf") x *= 0.3;
    if (name == "asin" || name == "acos" || name == "atanh") x /= 20;
    if (name == "sinh" || name == "cosh") x *= n % 4 == 0 ? top / 20 : 0.5;
    if (name == "acosh") x = n % 4 == 0 ? 1 + std::exp(2 * x) : 21 + x;
    if (name == "asinh" || name == "atan") x *= n % 4 == 0 ? std::exp(x) : 0.2;
    if (name == "sin" || name == "cos" || name == "tan") x *= n % 4 == 0 ? 1000 : 0.5;
    s.x.push_back(static_cast<T>(x));
    const double most = 0.9 * top / (std::abs(std::log(std::abs(x) + 1e-300)) + 1);
    s.y.push_back(static_cast<T>((2 * unit() - 1) * std::min(most, 100.0)));
  }
  return s;
}

long double exact(const std::string& name, long double x, long double y) {
  if (name == "exp") return std::exp(x);
  if (name == "log") return std::log(x);
  if (name == "log1p") return std::log1p(x);
  if (name == "expm1") return std::expm1(x);
  if (name == "tanh") return std::tanh(x);
  if (name == "erf") return std::erf(x);
  if (name == "sin") return std::sin(x);
  if (name == "cos") return std::cos(x);
  if (name == "tan") return std::tan(x);
  if (name == "asin") return std::asin(x);
  if (name == "acos") return std::acos(x);
  if (name == "atan") return std::atan(x);
  if (name == "sinh") return std::sinh(x);
  if (name == "cosh") return std::cosh(x);
  if (name == "asinh") return std::asinh(x);
  if (name == "acosh") return std::acosh(x);
  if (name == "atanh") return std::atanh(x);
  return std::pow(x, y);
}

template <class T>
double error_in_ulps(T got, long double want) {
  if (!std::isfinite(got) || want == 0) return 0;
  int exponent = 0;
  std::frexp(want, &exponent);
  exponent = std::max(exponent, std::numeric_limits<T>::min_exponent);
  return static_cast<double>(std::fabs(static_cast<long double>(got) - want) /
                             std::ldexp(1.0L, exponent - std::numeric_limits<T>::digits));
}
template <class T>
double worst(const std::string& name, const samples<T>& s, const std::vector<T>& got) {
  double most = 0;
  for (std::size_t n = 0; n < got.size(); ++n)
    most = std::max(most, error_in_ulps(got[n], exact(name, s.x[n], s.y[n])));
  return most;
}
template <class T>
bool same(const std::vector<T>& a, const std::vector<T>& b) {
  for (std::size_t n = 0; n < a.size(); ++n)
    if (std::memcmp(&a[n], &b[n], sizeof(T)) != 0 && !(std::isnan(a[n]) && std::isnan(b[n]))) return false;
  return true;
}

// The lowest of a few medians: all rounds of one are over in a millisecond, and others take the core for longer.
template <class Run>
double nanoseconds(Run run) {
  const auto of_rounds = [&] {
    std::vector<double> rounds;
    for (int k = 0; k < 31; ++k)
      rounds.push_back(seconds_of([&] {
                         for (int n = 0; n < 20; ++n) run();
                       }) *
                       1e9 / (20 * in_cache));
    return median(rounds);
  };
  double least = of_rounds();
  for (int k = 0; k < 4; ++k) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    least = std::min(least, of_rounds());
  }
  return least;
}

template <class T>
void say(const std::string& name, const char* library, double ns, double ulp, bool equal) {
  std::printf("math %s %s %s %.3f %.2f %s\n", name.c_str(), sizeof(T) == 4 ? "f32" : "f64", library, ns, ulp,
              equal ? "yes" : "no");
  std::fflush(stdout);
}

// ---- the libraries

template <class T, int Bytes>
struct vector_of {
  typedef T type __attribute__((vector_size(Bytes)));
};
#define LOOP(name, features, Bytes)                                                                                 \
  template <class T>                                                                                                \
  __attribute__((target(features))) void name(void* function, const T* x, const T* y, T* out, std::int64_t count) { \
    using v = typename vector_of<T, Bytes>::type;                                                                   \
    for (std::int64_t n = 0; n < count; n += static_cast<std::int64_t>(Bytes / sizeof(T))) {                        \
      v a, b = {}, made;                                                                                            \
      std::memcpy(&a, x + n, Bytes);                                                                                \
      if (y) std::memcpy(&b, y + n, Bytes);                                                                         \
      made = y ? reinterpret_cast<v (*)(v, v)>(function)(a, b) : reinterpret_cast<v (*)(v)>(function)(a);           \
      std::memcpy(out + n, &made, Bytes);                                                                           \
    }                                                                                                               \
  }
LOOP(narrow_loop, "avx2,fma", 32)
LOOP(wide_loop, "avx512f,avx512dq,avx512bw,avx512vl", 64)
#undef LOOP

struct library {
  const char *name, *file;
};
std::string symbol_of(const library& l, const std::string& name, bool is_double, bool wide) {
  if (std::string(l.name) == "libmvec")
    return std::string("_ZGV") + (wide ? "e" : "d") + "N" + std::to_string((wide ? 64 : 32) / (is_double ? 8 : 4)) +
           (name == "pow" ? "vv_" : "v_") + name + (is_double ? "" : "f");
  const std::string lanes = is_double ? (wide ? "d8" : "d4") : (wide ? "f16" : "f8");
  return "Sleef_" + name + lanes + "_u10" + (wide ? "avx512f" : "avx2");
}

template <class T>
void measure_library(const library& l, const std::string& name, const samples<T>& s) {
  void* const opened = dlopen(l.file, RTLD_NOW | RTLD_LOCAL);
  if (!opened) return;
  void* const narrow = dlsym(opened, symbol_of(l, name, sizeof(T) == 8, false).c_str());
  void* const wide = dlsym(opened, symbol_of(l, name, sizeof(T) == 8, true).c_str());
  if (!narrow || !wide) return;
  const auto copy = [](const std::vector<T>& from) {
    array<T, 1> to(static_cast<std::int64_t>(from.size()));
    std::copy(from.begin(), from.end(), to.data());
    return to;
  };
  const array<T, 1> x = copy(s.x), y = copy(s.y);
  array<T, 1> a(all), b(all);
  const T* second = name == "pow" ? y.data() : nullptr;
  narrow_loop(narrow, x.data(), second, a.data(), all);
  wide_loop(wide, x.data(), second, b.data(), all);
  const std::vector<T> got_narrow(a.data(), a.data() + all), got(b.data(), b.data() + all);
  const double ns = nanoseconds([&] { wide_loop(wide, x.data(), second, b.data(), in_cache); });
  say<T>(name, l.name, ns, worst(name, s, got), same(got, got_narrow));
}

// ---- Sheaf

template <class T, bool Two, class F>
void measure_own(const std::string& name, const samples<T>& s, F function) {
  constexpr auto x = tensor<"x", T, 1>;
  constexpr auto y = tensor<"y", T, 1>;
  const auto out = define<"out">(i) = function(x(i), y(i));
  const auto run = [&](const char* target, std::int64_t count, std::vector<T>& into) {
    into.resize(static_cast<std::size_t>(count));
    const auto program = compile(options{.sharing = sharing::off, .target = target}, out);
    const auto a = view_of(s.x.data(), count), b = view_of(s.y.data(), count);
    const auto c = view_of(into.data(), count);
    const auto call = [&] {
      if constexpr (Two)
        program(x = a, y = b, out = c);
      else
        program(x = a, out = c);
    };
    call();
    return count == in_cache ? nanoseconds(call) : 0;
  };
  std::vector<T> wide, narrow, few;
  run(nullptr, all, wide);
  run("x86-64-v3", all, narrow);
  say<T>(name, "Sheaf", run(nullptr, in_cache, few), worst(name, s, wide), same(wide, narrow));
}

template <class T, bool Two, class F>
void measure(const std::string& name, F function) {
  const samples<T> s = samples_for<T>(name);
  measure_own<T, Two>(name, s, function);
  for (const library& l : {library{"libmvec", "libmvec.so.1"}, library{"SLEEF", "libsleef.so.3"}})
    measure_library<T>(l, name, s);
}
template <bool Two = false, class F>
void both_types(const char* name, F function) {
  measure<float, Two>(name, function);
  measure<double, Two>(name, function);
}

}  // namespace

int main() {
  if (!__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512bw") || !__builtin_cpu_supports("avx512vl"))
    return std::printf("note math: this processor has no AVX-512 to compare AVX2 with\n"), 0;
  both_types("exp", [](auto x, auto) { return exp(x); });
  both_types("log", [](auto x, auto) { return log(x); });
  both_types("log1p", [](auto x, auto) { return log1p(x); });
  both_types("expm1", [](auto x, auto) { return expm1(x); });
  both_types("tanh", [](auto x, auto) { return tanh(x); });
  both_types("erf", [](auto x, auto) { return erf(x); });
  both_types("sin", [](auto x, auto) { return sin(x); });
  both_types("cos", [](auto x, auto) { return cos(x); });
  both_types("tan", [](auto x, auto) { return tan(x); });
  both_types("asin", [](auto x, auto) { return asin(x); });
  both_types("acos", [](auto x, auto) { return acos(x); });
  both_types("atan", [](auto x, auto) { return atan(x); });
  both_types("sinh", [](auto x, auto) { return sinh(x); });
  both_types("cosh", [](auto x, auto) { return cosh(x); });
  both_types("asinh", [](auto x, auto) { return asinh(x); });
  both_types("acosh", [](auto x, auto) { return acosh(x); });
  both_types("atanh", [](auto x, auto) { return atanh(x); });
  both_types<true>("pow", [](auto x, auto y) { return pow(x, y); });
}
