// The f64 nearest to a decimal, halves to even: what decimal.hpp writes reads back as the same number.
// Input: digits with an optional point and exponent. Output: the number; infinity beyond the largest.
// Shown by tests/static/text.cpp.
#pragma once
#include <sheaf/dsl/graph/decimal.hpp>

namespace sheaf::inline v0_1 {

namespace decimal {

constexpr double times_power_of_two(double x, int exponent) {
  for (; exponent > 0; --exponent) x = x < 0x1p1023 ? x * 2 : math::infinity;
  for (; exponent < 0; ++exponent) x /= 2;
  return x;
}

// numerator / denominator, neither 0, rounded once.
constexpr double quotient(natural numerator, natural denominator) {
  int exponent = 0;
  for (;; ++exponent) {
    natural twice = denominator;
    twice.multiply(2);
    if (numerator.compare(twice) < 0) break;
    denominator = twice;
  }
  for (; numerator.compare(denominator) < 0; --exponent) numerator.multiply(2);
  const int bits = exponent < -1022 ? 53 + 1022 + exponent : 53;
  if (bits < 0) return 0;
  std::uint64_t mantissa = 0;
  for (int i = 0; i < bits; ++i) {
    const bool one = numerator.compare(denominator) >= 0;
    if (one) numerator.subtract(denominator);
    mantissa = 2 * mantissa + one;
    numerator.multiply(2);
  }
  const int rest = numerator.compare(denominator);
  if (rest > 0 || (rest == 0 && mantissa % 2 == 1)) ++mantissa;
  return times_power_of_two(static_cast<double>(mantissa), exponent - bits + 1);
}

constexpr double value_of(const char* text, int size) {
  natural all(0);
  std::uint64_t small = 0;
  int count = 0, point = 0, exponent = 0, sign = 1;
  bool fraction = false, power = false;
  for (int i = 0; i < size; ++i) {
    const char c = text[i];
    if (c == '.')
      fraction = true;
    else if (c == 'e' || c == 'E')
      power = true;
    else if (c == '-')
      sign = -1;
    else if (c == '+')
      continue;
    else if (power)
      exponent = exponent < 100000 ? 10 * exponent + (c - '0') : exponent;
    else {
      all.multiply(10);
      all.add(natural(static_cast<std::uint64_t>(c - '0')));
      small = 10 * small + static_cast<std::uint64_t>(c - '0');
      count += small > 0;
      point += fraction;
    }
  }
  const int scale = sign * exponent - point;
  if (count == 0) return 0;
  double ten = 1;
  for (int i = 0; i < (scale < 0 ? -scale : scale) && i < 22; ++i) ten *= 10;
  if (count <= 15 && scale >= -22 && scale <= 22)  // both exact, so one rounding
    return scale < 0 ? static_cast<double>(small) / ten : static_cast<double>(small) * ten;
  if (scale + count > 310) return math::infinity;
  if (scale + count < -330) return 0;
  natural one(1);
  for (int i = 0; i < scale; ++i) all.multiply(10);
  for (int i = 0; i < -scale; ++i) one.multiply(10);
  return quotient(all, one);
}

}  // namespace decimal

}  // namespace sheaf::inline v0_1
