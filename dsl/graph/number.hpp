// The number of a type nearest to a decimal, halves to even, rounded once however many digits it has: what decimal.hpp
// writes reads back as the same number.
// Input: digits with an optional point and exponent. Output: the number; infinity beyond the largest.
// Shown by tests/static/text.cpp, tests/text/numbers.cpp.
#pragma once
#include <sheaf/dsl/graph/decimal.hpp>

namespace sheaf::inline v0_1 {

namespace decimal {

constexpr double times_power_of_two(double x, int exponent) {
  for (; exponent > 0; --exponent) x = x < 0x1p1023 ? x * 2 : math::infinity;
  for (; exponent < 0; ++exponent) x /= 2;
  return x;
}

// How what does not fit 53 bits is rounded: to odd where a narrower type is rounded to afterwards, which then is as if
// there had been one rounding (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", 2008).
enum class last_bit { to_even, to_odd };

// numerator / denominator, neither 0, rounded once.
constexpr double quotient(natural numerator, natural denominator, last_bit rounding) {
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
  if (rounding == last_bit::to_odd)
    mantissa |= !numerator.zero();
  else if (rest > 0 || (rest == 0 && mantissa % 2 == 1))
    ++mantissa;
  return times_power_of_two(static_cast<double>(mantissa), exponent - bits + 1);
}

// The digits of a decimal as a whole number times 10^scale, and how many they are from the first that is not 0.
struct scanned {
  natural whole{0};
  std::uint64_t small = 0;  // the same, of the first 19 digits
  std::int64_t scale = 0;
  int count = 0;
};

// No number, and no middle of two, has more digits than 768; of those beyond it counts whether one is not 0.
inline constexpr int most_digits = 800;

constexpr scanned scan(const char* text, int size) {
  constexpr std::int64_t most = std::int64_t{1} << 40;  // no text is as long
  scanned s;
  std::int64_t exponent = 0;
  int i = 0;
  bool fraction = false, rest = false;
  for (; i < size && text[i] != 'e' && text[i] != 'E'; ++i) {
    if (text[i] == '.') {
      fraction = true;
      continue;
    }
    const std::uint32_t digit = static_cast<std::uint32_t>(text[i] - '0');
    const bool kept = s.count < most_digits;
    s.scale += (kept ? 0 : 1) - (fraction ? 1 : 0);
    rest = rest || (!kept && digit != 0);
    if (!kept || (s.count == 0 && digit == 0)) continue;
    s.whole.multiply(10);
    s.whole.add(natural(digit));
    if (s.count++ < 19) s.small = 10 * s.small + digit;
  }
  if (rest) {
    s.whole.multiply(10);
    s.whole.add(natural(1));
    --s.scale;
    ++s.count;
  }
  const bool down = i + 1 < size && text[i + 1] == '-';
  for (++i; i < size; ++i)
    if (text[i] >= '0' && text[i] <= '9' && exponent < most) exponent = 10 * exponent + (text[i] - '0');
  s.scale += down ? -exponent : exponent;
  return s;
}

constexpr double value_of(const char* text, int size, element type = element::f64) {
  const scanned s = scan(text, size);
  const last_bit rounding = type == element::f64 ? last_bit::to_even : last_bit::to_odd;
  if (s.count == 0) return 0;
  if (s.scale + s.count > 310) return math::infinity;
  if (s.scale + s.count < -330) return 0;
  double ten = 1;
  for (std::int64_t i = 0; i < (s.scale < 0 ? -s.scale : s.scale) && i < 22; ++i) ten *= 10;
  const bool exact = s.count <= 15 && s.scale >= -22 && s.scale <= 22;  // both, so one rounding
  if (exact && (s.scale == 0 || rounding == last_bit::to_even)) {
    const double whole = static_cast<double>(s.small);
    return round_to(type, s.scale < 0 ? whole / ten : whole * ten);
  }
  natural whole = s.whole, one(1);
  for (std::int64_t i = 0; i < s.scale; ++i) whole.multiply(10);
  for (std::int64_t i = 0; i < -s.scale; ++i) one.multiply(10);
  return round_to(type, quotient(whole, one, rounding));
}

}  // namespace decimal

}  // namespace sheaf::inline v0_1
