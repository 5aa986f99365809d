// Errors of the math functions in units of the last place against long double, their special values, and the same bits
// in vectors, scalars and tails, for AVX2 and AVX-512.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <random>

#include <sheaf/jit/numerics/accuracy.hpp>

#include "harness.hpp"

namespace sheaf::test::math_tests {
namespace {

template <class T>
ir::module module_of(op what, bool two, int lanes) {
  ir::module m;
  m.name = "math";
  const element type = element_of<T>;
  add_slot(m, "x", type, 1, role::input);
  if (two) add_slot(m, "y", type, 1, role::input);
  const auto out = add_slot(m, "out", type, 1, role::output);
  ir::kernel_builder k("math");
  auto& top = k.top();
  auto i = top.loop(lanes > 1 ? loop_kind::vector : loop_kind::serial, "i", top.i64(0), top.extent(out, 0), lanes);
  const access how = lanes > 1 ? access::contiguous : access::uniform;
  std::vector<value> args = {i.load(0, type, {i.counter()}, how)};
  if (two) args.push_back(i.load(1, type, {i.counter()}, how));
  i.store(out, {i.counter()}, i.emit(what, args), how);
  i.close();
  m.kernels.push_back(std::move(k).finish());
  return m;
}

template <class T>
std::vector<T> apply(op what, const std::vector<T>& x, const std::vector<T>& y, const char* cpu, int lanes = 32) {
  const ir::module m = module_of<T>(what, !y.empty(), lanes);
  sheaf_llvm_options options = default_options();
  options.cpu = cpu;
  program p(m, options);
  const auto n = static_cast<std::int64_t>(x.size());
  std::vector<T> result(x.size());
  p.argument(x.data(), {n});
  if (!y.empty()) p.argument(y.data(), {n});
  p.argument(result.data(), {n}).run();
  return result;
}

std::string assembly_of(op what) {
  sheaf_llvm_options options = default_options();
  options.want_asm = 1;
  return program(module_of<double>(what, what == op::pow, 8), options).code().assembly;
}

long double exact(op what, long double x, long double y) {
  switch (what) {
    case op::exp:
      return std::exp(x);
    case op::log:
      return std::log(x);
    case op::log1p:
      return std::log1p(x);
    case op::expm1:
      return std::expm1(x);
    case op::tanh:
      return std::tanh(x);
    case op::sigmoid:
      return 1 / (1 + std::exp(-x));
    case op::erf:
      return std::erf(x);
    case op::sin:
      return std::sin(x);
    case op::cos:
      return std::cos(x);
    case op::tan:
      return std::tan(x);
    case op::asin:
      return std::asin(x);
    case op::acos:
      return std::acos(x);
    case op::atan:
      return std::atan(x);
    case op::sinh:
      return std::sinh(x);
    case op::cosh:
      return std::cosh(x);
    case op::asinh:
      return std::asinh(x);
    case op::acosh:
      return std::acosh(x);
    case op::atanh:
      return std::atanh(x);
    default:
      return std::pow(x, y);
  }
}

template <class T>
double ulps(T got, long double want) {
  const T rounded = static_cast<T>(want);
  if (got == 0 && want == 0 && std::signbit(got) != std::signbit(want)) return 1e9;
  if (got == rounded || (got != got && want != want)) return 0;
  if (!std::isfinite(got) || !std::isfinite(rounded)) {
    // Next to the largest number, an infinity is as good as the error allows.
    const long double top = std::numeric_limits<T>::max();
    return std::fabs(want) > top * (1 - 4 * std::numeric_limits<T>::epsilon()) && std::isinf(got) &&
                   !std::signbit(got) == (want > 0)
               ? 1
               : 1e9;
  }
  int exponent = 0;
  std::frexp(want, &exponent);
  exponent = std::max(exponent, std::numeric_limits<T>::min_exponent);
  return static_cast<double>(std::fabs(got - want) / std::ldexp(1.0L, exponent - std::numeric_limits<T>::digits));
}

// Every `step`-th f32 there is.
std::vector<float> all_floats(std::uint32_t step) {
  std::vector<float> x;
  for (std::uint64_t bits = 0; bits < 1ull << 32; bits += step)
    x.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  for (float special : {0.0f, -0.0f, 1.0f, -1.0f, INFINITY, -INFINITY, NAN, 88.72283f, 88.72284f, -103.97f, -87.4f,
                        89.41598f, -89.41599f, 0.5f, -0.5f, 0.99999994f, 1.0000001f})
    x.push_back(special);
  return x;
}

template <class T>
void check(op what, const std::vector<T>& x, const std::vector<T>& y = {}) {
  const double bound = numerics::largest_error(what);
  for (const char* cpu : {"native", "x86-64-v3", "x86-64"}) {
    const auto got = apply(what, x, y, cpu);
    double worst = 0;
    T at = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double error = ulps(got[i], exact(what, x[i], y.empty() ? 0 : y[i]));
      if (error > worst) worst = error, at = x[i];
    }
    EXPECT_LE(worst, bound) << "op " << static_cast<int>(what) << " on " << cpu << ", at " << at;
    ::testing::Test::RecordProperty(std::string("worst_") + cpu, std::to_string(worst));
  }
}

constexpr std::uint32_t step = 4999;
TEST(math_f32, exp) { check(op::exp, all_floats(step)); }
TEST(math_f32, log) { check(op::log, all_floats(step)); }
TEST(math_f32, expm1) { check(op::expm1, all_floats(step)); }
TEST(math_f32, log1p) { check(op::log1p, all_floats(step)); }
TEST(math_f32, sigmoid) { check(op::sigmoid, all_floats(step)); }
TEST(math_f32, tanh) { check(op::tanh, all_floats(step)); }
TEST(math_f32, erf) { check(op::erf, all_floats(step)); }
TEST(math_f32, sin) { check(op::sin, all_floats(step)); }
TEST(math_f32, cos) { check(op::cos, all_floats(step)); }
TEST(math_f32, tan) { check(op::tan, all_floats(step)); }
TEST(math_f32, asin) { check(op::asin, all_floats(step)); }
TEST(math_f32, acos) { check(op::acos, all_floats(step)); }
TEST(math_f32, atan) { check(op::atan, all_floats(step)); }
TEST(math_f32, sinh) { check(op::sinh, all_floats(step)); }
TEST(math_f32, cosh) { check(op::cosh, all_floats(step)); }
TEST(math_f32, asinh) { check(op::asinh, all_floats(step)); }
TEST(math_f32, acosh) { check(op::acosh, all_floats(step)); }
TEST(math_f32, atanh) { check(op::atanh, all_floats(step)); }

// Special values and ordinary ones, and results near the ends of the range.
template <class T>
void check_pow() {
  std::vector<T> x, y;
  for (double a :
       {0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, 3.7, -8.0, 1e10, 1e-10, double(INFINITY), -double(INFINITY), double(NAN)})
    for (double b : {0.0, -0.0, 1.0, -1.0, 2.0, 3.0, 0.5, -0.5, 1.0 / 3, 7.5, 1e30, -1e30, double(INFINITY),
                     -double(INFINITY), double(NAN)})
      x.push_back(T(a)), y.push_back(T(b));
  std::mt19937_64 random(5);
  const auto any = [&](double low, double high) { return std::uniform_real_distribution<double>(low, high)(random); };
  const double most = std::numeric_limits<T>::max_exponent + 3;
  for (int k = 0; k < 200'000; ++k) {
    const T base = T(std::exp2(any(-most, most)));
    x.push_back(base);
    y.push_back(T(any(-most, most) / (std::log2(static_cast<double>(base)) + 1e-3)));
    x.push_back(T(any(0.5, 2)));
    y.push_back(T(any(-most, most)));
  }
  check<T>(op::pow, x, y);  // half by the last rounding, the rest by those before it
}
TEST(math_f32, pow) { check_pow<float>(); }
TEST(math_f64, pow) { check_pow<double>(); }

std::vector<double> spread() {
  std::vector<double> x = {0.0, -0.0, INFINITY, -INFINITY, NAN, 710.0, -746.0, 1e300, -1e300, 1e-310};
  for (int e = -40; e < 12; ++e)
    for (double m : {1.0, 1 + 0x1p-52, 1.1, 1.37, 1.62, 1.93, 2 - 0x1p-52})
      x.push_back(std::ldexp(m, e)), x.push_back(-std::ldexp(m, e));
  return x;
}
// Signs and exponents of all sizes, with mantissas at random; many near 1 and near multiples of pi / 2.
std::vector<double> many_doubles() {
  std::vector<double> x = spread();
  std::mt19937_64 random(3);
  for (int k = 0; k < 100'000; ++k) x.push_back(std::bit_cast<double>(random()));
  for (int k = 0; k < 300'000; ++k) {
    const double u = static_cast<double>(random() >> 11) * 0x1p-53;
    for (const double scale : {1.0, 10.0, 1000.0, 1e9}) x.push_back((2 * u - 1) * scale);
    x.push_back(1 + (2 * u - 1) * 1e-3);
  }
  for (int k = 1; k < 30'000; ++k) x.push_back(k * 1.5707963267948966);
  return x;
}

TEST(math_f64, exp) { check(op::exp, many_doubles()); }
TEST(math_f64, log) { check(op::log, many_doubles()); }
TEST(math_f64, expm1) { check(op::expm1, many_doubles()); }
TEST(math_f64, log1p) { check(op::log1p, many_doubles()); }
TEST(math_f64, sigmoid) { check(op::sigmoid, many_doubles()); }
TEST(math_f64, tanh) { check(op::tanh, many_doubles()); }
TEST(math_f64, erf) { check(op::erf, many_doubles()); }
TEST(math_f64, sin) { check(op::sin, many_doubles()); }
TEST(math_f64, cos) { check(op::cos, many_doubles()); }
TEST(math_f64, tan) { check(op::tan, many_doubles()); }
TEST(math_f64, asin) { check(op::asin, many_doubles()); }
TEST(math_f64, acos) { check(op::acos, many_doubles()); }
TEST(math_f64, atan) { check(op::atan, many_doubles()); }
TEST(math_f64, sinh) { check(op::sinh, many_doubles()); }
TEST(math_f64, cosh) { check(op::cosh, many_doubles()); }
TEST(math_f64, asinh) { check(op::asinh, many_doubles()); }
TEST(math_f64, acosh) { check(op::acosh, many_doubles()); }
TEST(math_f64, atanh) { check(op::atanh, many_doubles()); }

template <class T>
void expect_same_bits(op what, const std::vector<T>& x, const std::vector<T>& a, const std::vector<T>& b,
                      const std::string& where) {
  for (std::size_t i = 0; i < x.size(); ++i) {
    const bool same = std::memcmp(&a[i], &b[i], sizeof(T)) == 0;
    ASSERT_TRUE(same || (a[i] != a[i] && b[i] != b[i]))
        << "op " << static_cast<int>(what) << " of " << row(element_of<T>).name << " at " << x[i] << ": " << a[i]
        << " and " << b[i] << ", " << where;
  }
}

constexpr op math_ops[] = {op::exp,  op::log,   op::log1p, op::expm1, op::tanh, op::sigmoid, op::erf,
                           op::sin,  op::cos,   op::tan,   op::asin,  op::acos, op::atan,    op::sinh,
                           op::cosh, op::asinh, op::acosh, op::atanh, op::pow};

// Neighbours of a number must not change its bits either: the samples come shuffled once more.
template <class T>
void check_scalars_are_vectors(std::vector<T> x) {
  std::vector<T> exponents(x.rbegin(), x.rend());
  for (T& e : exponents) e = std::fmod(e, T(60));
  for (const char* cpu : {"native", "x86-64-v3", "x86-64"})
    for (op what : math_ops) {
      const std::vector<T> y = what == op::pow ? exponents : std::vector<T>{};
      const std::vector<T> scalar = apply<T>(what, x, y, cpu, 1);
      for (int lanes : {2, 4, 8, 16, 64})
        expect_same_bits(what, x, scalar, apply<T>(what, x, y, cpu, lanes),
                         std::string(cpu) + ", 1 and " + std::to_string(lanes) + " lanes");
      std::vector<T> x2 = x, y2 = y;
      std::rotate(x2.begin(), x2.begin() + 5, x2.end());
      if (!y2.empty()) std::rotate(y2.begin(), y2.begin() + 5, y2.end());
      std::vector<T> moved = apply<T>(what, x2, y2, cpu, 32);
      std::rotate(moved.begin(), moved.end() - 5, moved.end());
      expect_same_bits(what, x, scalar, moved, std::string(cpu) + ", other neighbours");
    }
}

TEST(math_f32, scalars_are_vectors) { check_scalars_are_vectors(all_floats(3'000'017)); }
TEST(math_f64, scalars_are_vectors) {
  std::vector<double> x = spread();
  for (const float f : all_floats(9'000'011)) x.push_back(double{f} * 1.000000123);
  check_scalars_are_vectors(x);
}

template <class T>
void check_widths(const std::vector<T>& x) {
  std::vector<T> exponents(x.rbegin(), x.rend());
  for (T& e : exponents) e = std::fmod(e, T(60));
  for (op what : math_ops) {
    const std::vector<T> y = what == op::pow ? exponents : std::vector<T>{};
    expect_same_bits(what, x, apply<T>(what, x, y, "native", 64), apply<T>(what, x, y, "x86-64-v3", 64),
                     "AVX-512 and AVX2");
  }
}
TEST(math_f32, the_same_bits_in_every_width) { check_widths(all_floats(100'003)); }
TEST(math_f64, the_same_bits_in_every_width) { check_widths(many_doubles()); }

// Kernels stand alone: no vector library is called, and libm only for sines and tangents of huge numbers.
TEST(math, needs_no_vector_library) {
  for (op what : math_ops) {
    const std::string assembly = assembly_of(what);
    EXPECT_EQ(assembly.find("_ZGV"), std::string::npos) << row(what).name;
    if (row(what).library == nullptr) continue;
    const bool may_be_huge = what == op::sin || what == op::cos || what == op::tan;
    const bool calls = assembly.find(std::string(row(what).library) + "@") != std::string::npos;
    EXPECT_EQ(calls, may_be_huge) << row(what).name;
  }
}

}  // namespace
}  // namespace sheaf::test::math_tests
