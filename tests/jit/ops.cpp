// Every elementwise op, for every type, as vectors (with a tail) and as scalars, against plain C++, for three
// processors.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <type_traits>

#include "harness.hpp"

namespace sheaf::test::ops_tests {
namespace {

constexpr const char* processors[] = {"native", "x86-64-v3", "x86-64"};

template <class T>
std::vector<T> samples() {
  if constexpr (std::is_same_v<T, bool>) {
    return {false, true};
  } else if constexpr (std::is_floating_point_v<T>) {
    using limits = std::numeric_limits<T>;
    return {T(0),
            -T(0),
            T(1),
            T(-1),
            T(0.5),
            T(-0.5),
            T(1.5),
            T(2.5),
            T(-2.5),
            T(7),
            T(-7),
            T(3),
            T(-3),
            T(1e9),
            T(-3e9),
            T(1e19),
            limits::infinity(),
            -limits::infinity(),
            limits::quiet_NaN(),
            limits::max(),
            limits::lowest(),
            limits::min(),
            limits::denorm_min()};
  } else {
    using limits = std::numeric_limits<T>;
    return {T(0),
            T(1),
            T(2),
            T(3),
            T(7),
            T(8),
            T(-1),
            T(-2),
            T(-7),
            T(100),
            limits::max(),
            limits::lowest(),
            T(limits::max() - 1)};
  }
}

// std::vector<bool> has no data().
template <class T>
using stored = std::conditional_t<std::is_same_v<T, bool>, unsigned char, T>;

// out[i] = what(x[0][i], x[1][i], ...) by a vector loop or a serial one.
ir::module elementwise(op what, std::vector<element> from, element to, int lanes) {
  ir::module m;
  m.name = "ops";
  for (element type : from) add_slot(m, "x", type, 1, role::input);
  const auto out = add_slot(m, "out", to, 1, role::output);
  ir::kernel_builder k("ops");
  auto& top = k.top();
  auto i = top.loop(lanes > 1 ? loop_kind::vector : loop_kind::serial, "i", top.i64(0), top.extent(out, 0), lanes);
  const access how = lanes > 1 ? access::contiguous : access::uniform;
  std::vector<value> args;
  for (std::size_t n = 0; n < from.size(); ++n)
    args.push_back(i.load(static_cast<int>(n), from[n], {i.counter()}, how));
  i.store(out, {i.counter()}, what == op::cast ? i.cast(to, args[0]) : i.emit(what, args), how);
  i.close();
  m.kernels.push_back(std::move(k).finish());
  return m;
}

template <class T>
bool same(T x, T y) {
  return x == y || (x != x && y != y);
}

template <class To, class From>
void check(op what, std::function<To(From, From)> expected, bool binary) {
  std::vector<stored<From>> a, b;
  for (From x : samples<From>())
    for (From y : samples<From>()) a.push_back(x), b.push_back(y);
  std::vector<element> from(binary ? 2 : 1, element_of<From>);
  for (const char* cpu : processors) {
    std::vector<stored<To>> scalars;
    for (int lanes : {1, 16}) {
      sheaf_llvm_options options = default_options();
      options.cpu = cpu;
      program p(elementwise(what, from, element_of<To>, lanes), options);
      const auto n = static_cast<std::int64_t>(a.size());
      std::vector<stored<To>> out(a.size());
      p.argument(a.data(), {n});
      if (binary) p.argument(b.data(), {n});
      ASSERT_EQ(p.argument(out.data(), {n}).run(), SHEAF_OK);
      for (std::size_t i = 0; i < a.size(); ++i) {
        const To want = expected(From(a[i]), From(b[i]));
        ASSERT_TRUE(same<To>(To(out[i]), want))
            << "op " << static_cast<int>(what) << " of " << row(element_of<From>).name << " on " << cpu << ", lanes "
            << lanes << ": " << +From(a[i]) << ", " << +From(b[i]) << " gave " << +To(out[i]) << ", expected " << +want;
        // Zeros of either sign are equal above; between scalars and lanes the bits are.
        const bool same_bits = lanes == 1 || want != want || std::memcmp(&out[i], &scalars[i], sizeof out[i]) == 0;
        ASSERT_TRUE(same_bits) << "op " << static_cast<int>(what) << " of " << row(element_of<From>).name << " on "
                               << cpu << ": " << +From(a[i]) << ", " << +From(b[i]);
      }
      scalars = std::move(out);
    }
  }
}

__extension__ typedef __int128 wide;  // pedantic warnings know no such type

// Integers of any size wrap.
template <class T>
T wrap(wide x) {
  return static_cast<T>(x);
}
template <class T>
T floor_quotient(T a, T b) {
  if (b == 0) return 0;
  wide q = wide(a) / b;
  if (wide(a) % b != 0 && ((a < 0) != (b < 0))) --q;
  return wrap<T>(q);
}
template <class T>
T floor_remainder(T a, T b) {
  return b == 0 ? T(0) : wrap<T>(wide(a) - (wide(a) / b - ((wide(a) % b != 0) && ((a < 0) != (b < 0)))) * b);
}

// The floor of the exact quotient, as far as that is smaller than all numbers being whole.
template <class T>
T whole_quotient(T x, T y) {
  const T q = std::floor(x / y);
  if (std::isinf(x) && y != 0) return std::numeric_limits<T>::quiet_NaN();
  if (y == 0 || !(std::abs(q) < 1 / std::numeric_limits<T>::epsilon())) return q;
  if (std::isinf(y)) return x != 0 && std::signbit(x) != std::signbit(y) ? T(-1) : q;
  const T left = std::fma(-q, y, x);
  return left != 0 && std::signbit(left) != std::signbit(y) ? q - 1 : q;
}

template <class T>
void check_common() {
  check<bool, T>(op::equal, [](T x, T y) { return x == y; }, true);
  check<bool, T>(op::not_equal, [](T x, T y) { return x != y; }, true);
  check<bool, T>(op::less, [](T x, T y) { return x < y; }, true);
  check<bool, T>(op::less_equal, [](T x, T y) { return x <= y; }, true);
  check<T, T>(op::minimum, [](T x, T y) { return x != x ? x : y != y ? y : x < y ? x : y; }, true);
  check<T, T>(op::maximum, [](T x, T y) { return x != x ? x : y != y ? y : x > y ? x : y; }, true);
}

template <class T>
void check_integers() {
  check_common<T>();
  check<T, T>(op::neg, [](T x, T) { return wrap<T>(-wide(x)); }, false);
  check<T, T>(op::abs, [](T x, T) { return wrap<T>(x < 0 ? -wide(x) : wide(x)); }, false);
  check<T, T>(op::sign, [](T x, T) { return T((x > 0) - (x < 0)); }, false);
  check<T, T>(op::add, [](T x, T y) { return wrap<T>(wide(x) + y); }, true);
  check<T, T>(op::sub, [](T x, T y) { return wrap<T>(wide(x) - y); }, true);
  check<T, T>(op::mul, [](T x, T y) { return wrap<T>(wide(x) * y); }, true);
  check<T, T>(op::quotient, floor_quotient<T>, true);
  check<T, T>(op::remainder, floor_remainder<T>, true);
}

template <class T>
void check_floats() {
  check_common<T>();
  check<T, T>(op::neg, [](T x, T) { return -x; }, false);
  check<T, T>(op::abs, [](T x, T) { return std::abs(x); }, false);
  check<T, T>(op::sign, [](T x, T) { return T((x > 0) - (x < 0)); }, false);
  check<T, T>(op::sqrt, [](T x, T) { return std::sqrt(x); }, false);
  check<T, T>(op::floor, [](T x, T) { return std::floor(x); }, false);
  check<T, T>(op::ceil, [](T x, T) { return std::ceil(x); }, false);
  check<T, T>(op::round, [](T x, T) { return std::nearbyint(x); }, false);
  check<T, T>(op::add, [](T x, T y) { return x + y; }, true);
  check<T, T>(op::sub, [](T x, T y) { return x - y; }, true);
  check<T, T>(op::mul, [](T x, T y) { return x * y; }, true);
  check<T, T>(op::div, [](T x, T y) { return x / y; }, true);
  check<T, T>(op::quotient, whole_quotient<T>, true);
  check<T, T>(
      op::remainder,
      [](T x, T y) {
        const T r = std::fmod(x, y);
        return r != 0 && std::signbit(r) != std::signbit(y) ? r + y : r;
      },
      true);
}

template <class To, class From>
To saturate(From x) {
  if constexpr (std::is_same_v<To, bool>) {
    return x != 0;
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if (x != x) return 0;
    if (x >= static_cast<double>(std::numeric_limits<To>::max())) return std::numeric_limits<To>::max();
    if (x <= static_cast<double>(std::numeric_limits<To>::lowest())) return std::numeric_limits<To>::lowest();
    return static_cast<To>(x);
  } else {
    return static_cast<To>(x);
  }
}

template <class From, class... To>
void check_casts() {
  (check<To, From>(op::cast, [](From x, From) { return saturate<To, From>(x); }, false), ...);
}

TEST(ops, i8) { check_integers<std::int8_t>(); }
TEST(ops, u8) { check_integers<std::uint8_t>(); }
TEST(ops, i32) { check_integers<std::int32_t>(); }
TEST(ops, i64) { check_integers<std::int64_t>(); }
TEST(ops, f32) { check_floats<float>(); }
TEST(ops, f64) { check_floats<double>(); }

TEST(ops, boolean) {
  check_common<bool>();
  check<bool, bool>(op::logical_and, [](bool x, bool y) { return x && y; }, true);
  check<bool, bool>(op::logical_or, [](bool x, bool y) { return x || y; }, true);
  check<bool, bool>(op::logical_not, [](bool x, bool) { return !x; }, false);
}

template <class From>
void check_all_casts() {
  check_casts<From, bool, std::int8_t, std::uint8_t, std::int32_t, std::int64_t, float, double>();
}
TEST(casts, from_boolean) { check_all_casts<bool>(); }
TEST(casts, from_i8) { check_all_casts<std::int8_t>(); }
TEST(casts, from_u8) { check_all_casts<std::uint8_t>(); }
TEST(casts, from_i32) { check_all_casts<std::int32_t>(); }
TEST(casts, from_i64) { check_all_casts<std::int64_t>(); }
TEST(casts, from_f32) { check_all_casts<float>(); }
TEST(casts, from_f64) { check_all_casts<double>(); }

// All 65536 bit patterns to f32 and back, then numbers half way between two, which round to even.
void check_16_bits(element type, float (*expand)(std::uint16_t), const char* cpu) {
  sheaf_llvm_options options = default_options();
  options.cpu = cpu;
  std::vector<std::uint16_t> bits(65536), back(65536);
  std::vector<float> wide(65536);
  for (std::size_t n = 0; n < bits.size(); ++n) bits[n] = static_cast<std::uint16_t>(n);
  program up(elementwise(op::cast, {type}, element::f32, 32), options),
      down(elementwise(op::cast, {element::f32}, type, 32), options);
  up.argument(bits.data(), {65536}).argument(wide.data(), {65536}).run();
  down.argument(wide.data(), {65536}).argument(back.data(), {65536}).run();
  for (std::size_t n = 0; n < bits.size(); ++n) {
    ASSERT_TRUE(same(wide[n], expand(bits[n]))) << n << " on " << cpu;
    if (wide[n] == wide[n])
      ASSERT_EQ(back[n], bits[n]) << cpu;
    else
      ASSERT_FALSE(same(expand(back[n]), 0.0f)) << cpu;
  }
  std::vector<float> middle;
  for (std::uint16_t n = 0; expand(static_cast<std::uint16_t>(n + 1)) < std::numeric_limits<float>::infinity(); ++n)
    middle.push_back(expand(n) / 2 + expand(static_cast<std::uint16_t>(n + 1)) / 2);
  const auto count = static_cast<std::int64_t>(middle.size());
  program round(elementwise(op::cast, {element::f32}, type, 32), options);
  round.argument(middle.data(), {count}).argument(back.data(), {count}).run();
  for (std::size_t n = 1; n < middle.size(); ++n) ASSERT_EQ(back[n], n % 2 ? n + 1 : n) << middle[n] << " on " << cpu;
}
float from_half(std::uint16_t h) {
  const int exponent = h >> 10 & 31, mantissa = h & 1023;
  const double size = exponent == 31
                          ? (mantissa ? NAN : INFINITY)
                          : std::ldexp(exponent ? 1024 + mantissa : mantissa, (exponent ? exponent : 1) - 25);
  return static_cast<float>(h >> 15 ? -size : size);
}
float from_brain(std::uint16_t h) { return std::bit_cast<float>(static_cast<std::uint32_t>(h) << 16); }

TEST(casts, f16) {
  for (const char* cpu : processors) check_16_bits(element::f16, from_half, cpu);
}
TEST(casts, bf16) {
  for (const char* cpu : processors) check_16_bits(element::bf16, from_brain, cpu);
}

TEST(ops, select_takes_lanes) {
  std::vector<unsigned char> c;
  std::vector<float> x, y, out(37);
  for (int i = 0; i < 37; ++i) c.push_back(i % 3 == 0), x.push_back(float(i)), y.push_back(-float(i));
  for (const char* cpu : processors) {
    sheaf_llvm_options options = default_options();
    options.cpu = cpu;
    program p(elementwise(op::select, {element::boolean, element::f32, element::f32}, element::f32, 16), options);
    p.argument(c.data(), {37}).argument(x.data(), {37}).argument(y.data(), {37}).argument(out.data(), {37}).run();
    for (std::size_t i = 0; i < 37; ++i) EXPECT_EQ(out[i], c[i] ? x[i] : y[i]);
  }
}

}  // namespace
}  // namespace sheaf::test::ops_tests
