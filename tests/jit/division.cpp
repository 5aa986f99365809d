// Lanes divided by one number: the bits of the instruction, on this processor and with AVX2 alone, where the quotient
// lies next to the middle of two numbers, and for zeros, infinities, NaN and numbers near both ends of the range.
#include <gtest/gtest.h>

#include <bit>
#include <limits>
#include <random>

#include "harness.hpp"

namespace sheaf::test::division_tests {
namespace {

template <class T>
ir::module division_module(int lanes) {
  ir::module m;
  m.name = "division";
  constexpr element type = element_of<T>;
  const auto x = add_slot(m, "x", type, 2, role::input), by = add_slot(m, "by", type, 1, role::input);
  const auto out = add_slot(m, "out", type, 2, role::output);
  ir::kernel_builder k("division");
  auto& top = k.top();
  auto row = top.loop(loop_kind::serial, "row", top.i64(0), top.extent(out, 0), 1);
  auto i = row.loop(loop_kind::vector, "i", row.i64(0), row.extent(out, 1), lanes);
  const value divisor = i.load(by, type, {row.counter()}, access::uniform);
  const value lane = i.load(x, type, {row.counter(), i.counter()}, access::contiguous);
  i.store(out, {row.counter(), i.counter()}, i.emit(op::div, {lane, divisor}), access::contiguous);
  i.close();
  row.close();
  m.kernels.push_back(std::move(k).finish());
  return m;
}

// Divides the rows of x by the numbers of `by`.
template <class T>
void expect_bits(const std::vector<T>& x, const std::vector<T>& by) {
  using bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  const auto rows = static_cast<std::int64_t>(by.size()), columns = static_cast<std::int64_t>(x.size()) / rows;
  for (const char* cpu : {"native", "x86-64-v3"})
    for (const int lanes : {8, 32}) {
      const ir::module m = division_module<T>(lanes);
      sheaf_llvm_options options = default_options();
      options.cpu = cpu;
      program p(m, options);
      std::vector<T> out(x.size());
      p.argument(x.data(), {rows, columns}).argument(by.data(), {rows}).argument(out.data(), {rows, columns}).run();
      for (std::size_t n = 0; n < x.size(); ++n) {
        const T divisor = by[n / static_cast<std::size_t>(columns)], want = x[n] / divisor;
        if (want != want && out[n] != out[n]) continue;
        ASSERT_EQ(std::bit_cast<bits>(out[n]), std::bit_cast<bits>(want))
            << cpu << ", " << lanes << " lanes: " << std::hexfloat << x[n] << " / " << divisor << " is " << want
            << ", got " << out[n];
      }
    }
}

std::uint32_t inverse(std::uint32_t odd) {  // modulo 2^32, by Newton's steps
  std::uint32_t x = odd;
  for (int step = 0; step < 5; ++step) x *= 2 - odd * x;
  return x;
}

// All a of 24 bits whose quotient by the odd b, of 24 bits too, is `apart` / (2 b) units from the middle between two
// numbers: a 2^k = m b + apart with k = 24 where a >= b, else 25, and m odd, of 25 bits.
void near_middle(std::uint32_t b, std::int64_t apart, std::vector<float>& list) {
  for (int k = 24; k <= 25; ++k) {
    const std::uint64_t iteration = std::uint64_t{1} << k;
    for (std::uint64_t m = (static_cast<std::uint32_t>(-apart) * inverse(b)) & (iteration - 1); m < 1u << 25;
         m += iteration) {
      const std::int64_t a = static_cast<std::int64_t>(m * b) + apart;
      if (m <= 1u << 24 || m % 2 == 0 || a % static_cast<std::int64_t>(iteration) != 0) continue;
      const std::int64_t whole = a >> k;
      if (whole >= 1 << 23 && whole < 1 << 24) list.push_back(static_cast<float>(whole));
    }
  }
}

TEST(division, quotients_next_to_the_middle_of_two_numbers) {
  constexpr std::size_t columns = 64;
  std::vector<float> x, by;
  for (std::uint32_t b = (1u << 23) + 1; b < 1u << 24; b += 4098) {
    std::vector<float> row;
    for (std::int64_t apart = -24; apart <= 24; ++apart)
      if (apart != 0) near_middle(b, apart, row);
    row.resize(columns, static_cast<float>(b - 1));
    x.insert(x.end(), row.begin(), row.end());
    by.push_back(static_cast<float>(b));
  }
  expect_bits(x, by);
}

template <class T>
std::vector<T> numbers(std::size_t count, unsigned seed) {
  std::mt19937_64 draw(seed);
  std::vector<T> list;
  for (std::size_t n = 0; n < count; ++n)
    list.push_back(std::ldexp(static_cast<T>(draw() | 1), static_cast<int>(draw() % 40) - 84) * (draw() % 2 ? 1 : -1));
  return list;
}

template <class T>
class division_of : public testing::Test {};
using types = testing::Types<float, double>;
TYPED_TEST_SUITE(division_of, types);

TYPED_TEST(division_of, any_numbers) { expect_bits(numbers<TypeParam>(2000 * 71, 1), numbers<TypeParam>(2000, 2)); }

// Each divisor meets a row of one special number among usual ones, and a row of special numbers alone.
TYPED_TEST(division_of, special_numbers) {
  using T = TypeParam;
  using limits = std::numeric_limits<T>;
  const std::vector<T> special = {0,
                                  limits::infinity(),
                                  limits::quiet_NaN(),
                                  limits::denorm_min(),
                                  3 * limits::denorm_min(),
                                  limits::min(),
                                  limits::max(),
                                  T(0x1p59),
                                  T(0x1p61),
                                  T(0x1p-59),
                                  T(0x1p-61),
                                  1,
                                  3,
                                  T(1) / 3};
  std::vector<T> x, by;
  for (const T first : special)
    for (const T divisor : special)
      for (const T sign : {T(1), T(-1)}) {
        std::vector<T> row = numbers<T>(32, 3);
        row[by.size() % 32] = sign * first;
        for (std::size_t n = 0; n < 39; ++n) row.push_back(special[n % special.size()] * (n % 2 ? sign : 1));
        x.insert(x.end(), row.begin(), row.end());
        by.push_back(sign * divisor);
      }
  expect_bits(x, by);
}

}  // namespace
}  // namespace sheaf::test::division_tests
