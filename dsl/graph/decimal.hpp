// The shortest decimal that reads back as the same number of its type: Steele and White's algorithm with whole numbers
// of any length, as in "Printing Floating-Point Numbers Quickly and Accurately" (Burger and Dybvig, 1996).
// Shown by tests/static/decimal.cpp.
#pragma once
#include <sheaf/dsl/graph/flat.hpp>
#include <sheaf/dsl/graph/half.hpp>

namespace sheaf::inline v0_1 {

namespace decimal {

// A whole number that is not negative, its lowest 32 bits first.
class natural {
 public:
  constexpr explicit natural(std::uint64_t n) {
    for (; n != 0; n >>= 32) limbs_.push(static_cast<std::uint32_t>(n));
  }
  constexpr void multiply(std::uint32_t factor) {
    std::uint64_t carry = 0;
    for (int i = 0; i < limbs_.size(); ++i) {
      carry += std::uint64_t{limbs_[i]} * factor;
      limbs_[i] = static_cast<std::uint32_t>(carry);
      carry >>= 32;
    }
    if (carry != 0) limbs_.push(static_cast<std::uint32_t>(carry));
  }
  constexpr void shift(int bits) {
    for (; bits >= 31; bits -= 31) multiply(1u << 31);
    multiply(1u << bits);
  }
  constexpr void add(const natural& other) {
    std::uint64_t carry = 0;
    for (int i = 0; i < other.limbs_.size() || carry != 0; ++i) {
      if (i == limbs_.size()) limbs_.push(0);
      carry += std::uint64_t{limbs_[i]} + (i < other.limbs_.size() ? other.limbs_[i] : 0);
      limbs_[i] = static_cast<std::uint32_t>(carry);
      carry >>= 32;
    }
  }
  constexpr void subtract(const natural& smaller) {
    std::uint64_t borrow = 0;
    for (int i = 0; i < limbs_.size(); ++i) {
      const std::uint64_t take = borrow + (i < smaller.limbs_.size() ? smaller.limbs_[i] : 0);
      borrow = limbs_[i] < take;
      limbs_[i] = static_cast<std::uint32_t>(limbs_[i] - take);
    }
    while (!limbs_.empty() && limbs_.back() == 0) limbs_.pop();
  }
  constexpr bool zero() const { return limbs_.empty(); }
  constexpr int compare(const natural& other) const {
    if (limbs_.size() != other.limbs_.size()) return limbs_.size() < other.limbs_.size() ? -1 : 1;
    for (int i = limbs_.size() - 1; i >= 0; --i)
      if (limbs_[i] != other.limbs_[i]) return limbs_[i] < other.limbs_[i] ? -1 : 1;
    return 0;
  }

 private:
  flat<std::uint32_t> limbs_;
};

// 0.d1 d2 d3 ... * 10^point
struct digits {
  flat<char> text;
  int point = 0;
};

constexpr half::format format_of(element type) {
  switch (type) {
    case element::f16: return half::f16;
    case element::bf16: return half::bf16;
    case element::f32: return half::f32;
    default: return {53, -1022, 1023};
  }
}

// x = numerator / scale; half the gap to the next number above and below = above / scale, below / scale.
struct scaled {
  natural numerator, scale, above, below;
  bool even;

  constexpr bool reaches_one(const natural& n) const {
    natural sum = n;
    sum.add(above);
    return sum.compare(scale) > (even ? -1 : 0);
  }
  constexpr void ten_times() {
    numerator.multiply(10);
    above.multiply(10);
    below.multiply(10);
  }
};

constexpr scaled split(double x, half::format f) {
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(x);
  std::uint64_t m = bits & 0xFFFFFFFFFFFFFull;
  int e = half::exponent(x) < -1022 ? -1022 : half::exponent(x);
  if (e != -1022 || (bits >> 52) != 0) m |= 1ull << 52;
  e -= 52;
  // As the type holds it: f.digits bits, fewer below its least normal number.
  const int drop = (e + 52 < f.least ? f.least : e + 52) - f.digits + 1 - e;
  m >>= drop;
  e += drop;
  const bool narrow = m == 1ull << (f.digits - 1) && e > f.least - f.digits + 1;
  scaled s{natural(m), natural(1), natural(1), natural(1), m % 2 == 0};
  s.numerator.shift((e > 0 ? e : 0) + (narrow ? 2 : 1));
  s.scale.shift((e < 0 ? -e : 0) + (narrow ? 2 : 1));
  s.above.shift((e > 0 ? e : 0) + (narrow ? 1 : 0));
  s.below.shift(e > 0 ? e : 0);
  return s;
}

// x is positive and finite.
constexpr digits shortest(double x, element type) {
  scaled s = split(x, format_of(type));
  digits d;
  for (; s.reaches_one(s.numerator); ++d.point) s.scale.multiply(10);
  for (;; --d.point) {
    scaled next = s;
    next.ten_times();
    if (next.reaches_one(next.numerator)) break;
    s = next;
  }
  for (;;) {
    s.ten_times();
    char digit = '0';
    for (; s.numerator.compare(s.scale) >= 0; ++digit) s.numerator.subtract(s.scale);
    const bool low = s.numerator.compare(s.below) < (s.even ? 1 : 0);
    const bool high = s.reaches_one(s.numerator);
    if (low || high) {
      natural twice = s.numerator;
      twice.multiply(2);
      if (high && (!low || twice.compare(s.scale) >= 0)) ++digit;
      d.text.push(digit);
      return d;
    }
    d.text.push(digit);
  }
}

}  // namespace decimal

constexpr void append(flat<char>& out, const char* text) {
  for (; *text != 0; ++text) out.push(*text);
}

constexpr void append_natural(flat<char>& out, std::uint64_t rest) {
  char digits[20] = {};
  int count = 0;
  do {
    digits[count++] = static_cast<char>('0' + rest % 10);
    rest /= 10;
  } while (rest != 0);
  while (count > 0) out.push(digits[--count]);
}
constexpr void append_integer(flat<char>& out, std::int64_t value) {
  if (value < 0) out.push('-');
  append_natural(out, value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value));
}

// 1 0.25 1e-8 -inf nan; `point` asks for 1.0 instead of 1.
constexpr void append_real(flat<char>& out, double value, element type, bool point) {
  if (value != value) return append(out, "nan");
  if (std::bit_cast<std::int64_t>(value) < 0) out.push('-');
  value = math::abs(value);
  if (value == math::infinity) return append(out, "inf");
  if (value == 0) return append(out, point ? "0.0" : "0");
  const decimal::digits d = decimal::shortest(value, type);
  const int count = d.text.size();
  const bool plain = d.point > -4 && d.point < 10;
  const int whole = plain ? d.point : 1;  // digits before the point
  for (int i = 0; i < whole; ++i) out.push(i < count ? d.text[i] : '0');
  if (whole <= 0) out.push('0');
  if (count > whole) {
    out.push('.');
    for (int i = whole; i < 0; ++i) out.push('0');
    for (int i = whole > 0 ? whole : 0; i < count; ++i) out.push(d.text[i]);
  } else if (plain && point) {
    append(out, ".0");
  }
  if (plain) return;
  out.push('e');
  append_integer(out, d.point - 1);
}

}  // namespace sheaf::inline v0_1
