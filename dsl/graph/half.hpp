// Rounding to an element type: f16 and bf16 to nearest even with subnormals, f32, and integers of any width.
// Shown by tests/static/half.cpp.
#pragma once
#include <bit>
#include <cstdint>
#include <limits>

#include <sheaf/dsl/graph/constexpr_math.hpp>
#include <sheaf/dsl/graph/element.hpp>

namespace sheaf::inline v0_1 {

namespace half {

struct format {
  int digits;        // of the significand, the hidden one too
  int least;         // exponent of the least normal number
  int greatest;      // and of the greatest
};
SHEAF_HIDDEN inline constexpr format f16{11, -14, 15};
SHEAF_HIDDEN inline constexpr format bf16{8, -126, 127};
SHEAF_HIDDEN inline constexpr format f32{24, -126, 127};

SHEAF_HIDDEN constexpr double power_of_two(int k) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(1023 + k) << 52);
}
// The exponent of a normal f64; less than any format's for zero and subnormals.
SHEAF_HIDDEN constexpr int exponent(double x) {
  return static_cast<int>((std::bit_cast<std::uint64_t>(x) >> 52) & 0x7FF) - 1023;
}

// One rounding from f64: by way of f32 there would be two.
SHEAF_HIDDEN constexpr double round_to(double x, format f) {
  if (x != x || x == 0 || math::abs(x) == math::infinity) return x;
  const int e = exponent(x) < f.least ? f.least : exponent(x);
  if (e > f.greatest) return x > 0 ? math::infinity : -math::infinity;
  const double quantum = power_of_two(e - f.digits + 1);
  const double y = math::round(math::abs(x) * power_of_two(f.digits - 1 - e)) * quantum;
  const double size = y >= power_of_two(f.greatest) * 2 ? math::infinity : y;
  return x < 0 ? -size : size;
}

// The bits of a number that round_to has rounded to f.
SHEAF_HIDDEN constexpr std::uint32_t encode(double x, format f, int exponent_bits) {
  const int fraction = f.digits - 1;
  const std::uint32_t sign = static_cast<std::uint32_t>(std::bit_cast<std::uint64_t>(x) >> 63)
                             << (fraction + exponent_bits);
  const std::uint32_t top = ((1u << exponent_bits) - 1) << fraction;
  const double a = math::abs(x);
  if (x != x) return top | (1u << (fraction - 1));
  if (a == math::infinity) return sign | top;
  if (a < power_of_two(f.least))
    return sign | static_cast<std::uint32_t>(a * power_of_two(fraction) / power_of_two(f.least));
  const int e = exponent(x);
  const std::uint32_t significand = static_cast<std::uint32_t>(a * power_of_two(fraction - e));
  return sign | (static_cast<std::uint32_t>(e - f.least + 1) << fraction) | (significand - (1u << fraction));
}

SHEAF_HIDDEN constexpr double decode(std::uint32_t bits, format f, int exponent_bits) {
  const int fraction = f.digits - 1;
  const int e = static_cast<int>((bits >> fraction) & ((1u << exponent_bits) - 1));
  const double low = bits & ((1u << fraction) - 1);
  double a = (low + power_of_two(fraction)) * power_of_two(e - 1 + f.least - fraction);
  if (e == 0) a = low * power_of_two(f.least - fraction);
  if (e == (1 << exponent_bits) - 1) a = low == 0 ? math::infinity : math::nan;
  return (bits >> (fraction + exponent_bits)) & 1 ? -a : a;
}

}  // namespace half

SHEAF_HIDDEN constexpr float16 to_float16(double x) {
  return {static_cast<std::uint16_t>(half::encode(half::round_to(x, half::f16), half::f16, 5))};
}
SHEAF_HIDDEN constexpr bfloat16 to_bfloat16(double x) {
  return {static_cast<std::uint16_t>(half::encode(half::round_to(x, half::bf16), half::bf16, 8))};
}
SHEAF_HIDDEN constexpr double to_double(float16 x) { return half::decode(x.bits, half::f16, 5); }
SHEAF_HIDDEN constexpr double to_double(bfloat16 x) { return half::decode(x.bits, half::bf16, 8); }

SHEAF_HIDDEN constexpr double round_to(element type, double x) {
  switch (type) {
    case element::f16: return half::round_to(x, half::f16);
    case element::bf16: return half::round_to(x, half::bf16);
    case element::f32: return half::round_to(x, half::f32);
    default: return x;
  }
}

// An integer as a floating number: the nearest f64 or f32, halves by way of f32, in which they are computed.
// `from` says how its bits are read: those of a u64 are an i64's.
SHEAF_HIDDEN constexpr double real_of(element type, std::int64_t x, element from = element::i64) {
  const auto natural = static_cast<std::uint64_t>(x);
  if (type == element::f64) return from == element::u64 ? static_cast<double>(natural) : static_cast<double>(x);
  const float near = from == element::u64 ? static_cast<float>(natural) : static_cast<float>(x);
  return round_to(type, static_cast<double>(near));
}

// Integers keep their low bits; a boolean is 1 where the number is not zero.
SHEAF_HIDDEN constexpr std::int64_t wrap_to(element type, std::int64_t x) {
  switch (type) {
    case element::boolean: return x != 0;
    case element::i8: return static_cast<std::int8_t>(x);
    case element::u8: return static_cast<std::uint8_t>(x);
    case element::i16: return static_cast<std::int16_t>(x);
    case element::u16: return static_cast<std::uint16_t>(x);
    case element::i32: return static_cast<std::int32_t>(x);
    case element::u32: return static_cast<std::uint32_t>(x);
    default: return x;
  }
}

SHEAF_HIDDEN constexpr std::int64_t lowest_integer(element type) {
  const int bits = 8 * row(type).bytes;
  return type == element::boolean || is_unsigned(type) ? 0
         : bits == 64                                  ? INT64_MIN
                                                       : -(std::int64_t{1} << (bits - 1));
}
// Of u64 its bits: -1.
SHEAF_HIDDEN constexpr std::int64_t highest_integer(element type) {
  if (type == element::boolean) return 1;
  return is_unsigned(type) ? static_cast<std::int64_t>(UINT64_MAX >> (64 - 8 * row(type).bytes))
                           : -(lowest_integer(type) + 1);
}

// A real number as an integer: towards zero, the nearest end where it does not fit, 0 for NaN.
SHEAF_HIDDEN constexpr std::int64_t truncate_to(element type, double x) {
  if (type == element::boolean) return x != 0;
  if (x != x) return 0;
  if (type == element::u64)
    return x >= 18446744073709551616.0 ? highest_integer(type)
           : x <= 0                    ? 0
                                       : static_cast<std::int64_t>(static_cast<std::uint64_t>(x));
  if (x >= 9223372036854775808.0) return highest_integer(type);
  if (x < -9223372036854775808.0) return lowest_integer(type);
  const std::int64_t whole = static_cast<std::int64_t>(x);
  return whole > highest_integer(type)  ? highest_integer(type)
         : whole < lowest_integer(type) ? lowest_integer(type)
                                        : whole;
}

}  // namespace sheaf::inline v0_1
