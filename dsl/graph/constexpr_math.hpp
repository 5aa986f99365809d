// Elementary functions that also work in constant evaluation, where they are within a few ulp of f64 by the textbook
// series named at each; at run time they are the C library's. Shown by tests/static/constexpr_math.cpp.
#pragma once
#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace sheaf::inline v0_1::math {

inline constexpr double infinity = std::numeric_limits<double>::infinity();
inline constexpr double nan = std::numeric_limits<double>::quiet_NaN();
// the first 33 bits of ln 2, so that k * ln2_high is exact
inline constexpr double ln2_high = 6.93147180369123816490e-01;
inline constexpr double ln2_low = 1.90821492927058770002e-10;

constexpr double abs(double x) {
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(x) & 0x7FFFFFFFFFFFFFFFull);
}

// IEEE arithmetic: in constant evaluation the compilers reject an overflow, a division by zero and a new NaN.
namespace checked {
constexpr bool finite(double x) { return abs(x) < infinity; }
constexpr int exponent(double x) { return static_cast<int>((std::bit_cast<std::uint64_t>(x) >> 52) & 0x7FF) - 1023; }
constexpr double signed_by(double size, double a, double b) {
  return (std::bit_cast<std::uint64_t>(a) ^ std::bit_cast<std::uint64_t>(b)) >> 63 ? -size : size;
}
constexpr double add(double a, double b) {
  if (a != a || b != b || (!finite(a) && !finite(b) && a != b)) return nan;
  if (!finite(a) || !finite(b)) return finite(a) ? b : a;
  const double half = a * 0.5 + b * 0.5;
  return abs(half) < 0x1p1023 ? a + b : half > 0 ? infinity : -infinity;
}
constexpr double mul(double a, double b) {
  if (a != a || b != b || (a == 0 && !finite(b)) || (b == 0 && !finite(a))) return nan;
  if (!finite(a) || !finite(b)) return signed_by(infinity, a, b);
  const bool large = a != 0 && b != 0 && exponent(a) + exponent(b) >= 1022;
  return large && abs((a * 0x1p-512) * (b * 0x1p-512)) >= 1 ? signed_by(infinity, a, b) : a * b;
}
constexpr double div(double a, double b) {
  if (a != a || b != b || (a == 0 && b == 0) || (!finite(a) && !finite(b))) return nan;
  if (!finite(a) || b == 0) return signed_by(infinity, a, b);
  const bool large = a != 0 && finite(b) && exponent(a) - exponent(b) >= 1022;
  return large && abs((a * 0x1p-900) / (b * 0x1p100)) >= 0x1p24 ? signed_by(infinity, a, b) : a / b;
}
}  // namespace checked
constexpr double add(double a, double b) { return std::is_constant_evaluated() ? checked::add(a, b) : a + b; }
constexpr double sub(double a, double b) { return std::is_constant_evaluated() ? checked::add(a, -b) : a - b; }
constexpr double mul(double a, double b) { return std::is_constant_evaluated() ? checked::mul(a, b) : a * b; }
constexpr double div(double a, double b) { return std::is_constant_evaluated() ? checked::div(a, b) : a / b; }

constexpr double trunc(double x) {
  if (!(abs(x) < 4503599627370496.0)) return x;  // 2^52: already whole, infinite or NaN
  return static_cast<double>(static_cast<std::int64_t>(x));
}
constexpr double floor(double x) {
  const double t = trunc(x);
  return t > x ? t - 1 : t;
}
constexpr double ceil(double x) { return -floor(-x); }
// Half to even.
constexpr double round(double x) {
  const double f = floor(x);
  const double rest = x - f;
  if (!(rest < 1)) return x;
  const double nearest = rest != 0.5 ? (rest < 0.5 ? f : f + 1) : f - 2 * floor(f / 2) == 0 ? f : f + 1;
  return nearest == 0 && x < 0 ? -0.0 : nearest;
}

constexpr double scale(double x, int k) {
  for (; k > 1000; k -= 1000) x *= 0x1p1000;
  for (; k < -1000; k += 1000) x *= 0x1p-1000;
  return x * std::bit_cast<double>(static_cast<std::uint64_t>(1023 + k) << 52);
}

namespace series {

// e^r - 1 for |r| < 0.35, by Taylor's series.
constexpr double expm1_small(double r) {
  double term = r, sum = r;
  for (int k = 2; k < 20; ++k) {
    term *= r / k;
    sum += term;
  }
  return sum;
}

constexpr double exp(double x) {
  if (x != x) return x;
  if (x > 709.782712893384) return infinity;
  if (x < -745.2) return 0;
  const double k = round(x * 1.4426950408889634);
  const double r = (x - k * ln2_high) - k * ln2_low;
  return scale(1 + expm1_small(r), static_cast<int>(k));
}

// log(m 2^k) = k ln 2 + 2 artanh((m - 1) / (m + 1)).
constexpr double log(double x) {
  if (x != x || x == infinity) return x;
  if (x < 0) return nan;
  if (x == 0) return -infinity;
  int k = 0;
  if (x < 0x1p-1000) {
    x *= 0x1p54;
    k = -54;
  }
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(x);
  k += static_cast<int>(bits >> 52) - 1023;
  double m = std::bit_cast<double>((bits & 0xFFFFFFFFFFFFFull) | (1023ull << 52));
  if (m > 1.4142135623730951) {
    m /= 2;
    ++k;
  }
  const double s = (m - 1) / (m + 1), z = s * s;
  double sum = 0;
  for (int n = 27; n >= 1; n -= 2) sum = sum * z + 1.0 / n;
  return k * ln2_high + (2 * s * sum + k * ln2_low);
}

// Kahan's correction of log(1 + x).
constexpr double log1p(double x) {
  const double u = 1 + x;
  if (u == 1) return x;
  if (x == infinity || x <= -1) return log(u);
  return log(u) - ((u - 1) - x) / u;
}

constexpr double expm1(double x) { return abs(x) < 0.35 ? expm1_small(x) : exp(x) - 1; }

constexpr double sqrt(double x) {
  if (x != x || x == 0 || x == infinity) return x;
  if (x < 0) return nan;
  if (x > 0x1p1000) return 0x1p100 * sqrt(x * 0x1p-200);  // or the last step would overflow or round
  if (x < 0x1p-800) return 0x1p-150 * sqrt(x * 0x1p300);
  double y = std::bit_cast<double>((std::bit_cast<std::uint64_t>(x) >> 1) + (1023ull << 51));
  for (int i = 0; i < 6; ++i) y = 0.5 * (y + x / y);
  // The last step with an exact x - y * y (Dekker, 1971), or the last bit may be wrong.
  const double wide = 134217729 * y, high = wide - (wide - y), low = y - high;
  return y + (((x - high * high) - 2 * high * low) - low * low) / (2 * y);
}

constexpr double tanh(double x) {
  if (x != x) return x;
  if (abs(x) > 20) return x > 0 ? 1.0 : -1.0;
  const double e = expm1(2 * x);
  return e / (e + 2);
}

// Halved until Euler's series converges: atan(x) = 2 atan(x / (1 + sqrt(1 + x x))).
constexpr double atan(double x) {
  if (x != x || x == 0) return x;
  if (abs(x) > 1) return (x > 0 ? 1.5707963267948966 : -1.5707963267948966) - atan(math::div(1, x));
  const double h = x / (1 + sqrt(1 + x * x)), z = h * h / (1 + h * h);
  double term = h / (1 + h * h), sum = term;
  for (int n = 1; n < 60; ++n) {
    term *= z * 2 * n / (2 * n + 1);
    sum += term;
  }
  return 2 * sum;
}
constexpr double asin(double x) {
  if (abs(x) > 1) return nan;
  return abs(x) == 1 ? x * 1.5707963267948966 : atan(x / sqrt((1 - x) * (1 + x)));
}
constexpr double acos(double x) {
  if (x < 0) return 3.141592653589793 - acos(-x);
  if (x != x || x > 1) return nan;
  return x == 0 ? 1.5707963267948966 : atan(sqrt((1 - x) * (1 + x)) / x);
}
// Half of the exponential's power twice, or it would overflow too soon.
constexpr double sinh(double x) {
  if (abs(x) < 700) return (expm1(x) - expm1(-x)) / 2;
  const double e = exp(abs(x) / 2), size = math::mul(e / 2, e);
  return x != x ? x : x > 0 ? size : -size;
}
constexpr double cosh(double x) {
  if (abs(x) < 700) return (exp(x) + exp(-x)) / 2;
  const double e = exp(abs(x) / 2);
  return x != x ? x : math::mul(e / 2, e);
}
constexpr double asinh(double x) {
  if (x != x || x == 0 || abs(x) == infinity) return x;
  const double a = abs(x);
  const double size = a > 0x1p28 ? log(a) + 0.69314718055994531 : log1p(a + a * a / (1 + sqrt(1 + a * a)));
  return x < 0 ? -size : size;
}
constexpr double acosh(double x) {
  if (x != x || x < 1) return nan;
  const double t = x - 1;
  return x > 0x1p28 ? log(x) + 0.69314718055994531 : log1p(t + sqrt(2 * t + t * t));
}
constexpr double atanh(double x) {
  const double a = abs(x);
  if (x != x || a > 1) return nan;
  const double size = a == 1 ? infinity : log1p(2 * a / (1 - a)) / 2;
  return x < 0 ? -size : x == 0 ? x : size;
}

// sin and cos of r + quarter * pi / 2, by Taylor's series; the argument is reduced in three parts of pi / 2.
constexpr double wave(double x, int quarter) {
  if (x != x || abs(x) == infinity) return nan;
  const double k = round(x * 0.6366197723675814);
  const double r = ((x - k * 1.57079632673412561417) - k * 6.07710050630396597660e-11) - k * 2.02226624879595063154e-21;
  quarter = static_cast<int>(k - 4 * floor(k / 4) + quarter) & 3;
  double term = (quarter & 1) ? 1 : r, sum = term;
  for (int n = (quarter & 1) ? 1 : 2; n < 26; n += 2) {
    term *= -r * r / (n * (n + 1));
    sum += term;
  }
  return (quarter & 2) ? -sum : sum;
}

// Abramowitz and Stegun 7.1.5 (series) and 7.1.14 (continued fraction).
constexpr double erf(double x) {
  if (x != x) return x;
  const double a = abs(x);
  if (a > 6) return x > 0 ? 1.0 : -1.0;
  if (a < 2.5) {
    double term = x, sum = x;
    for (int n = 1; n < 60; ++n) {
      term *= -x * x / n;
      sum += term / (2 * n + 1);
    }
    return 1.1283791670955126 * sum;
  }
  double fraction = a;
  for (int n = 60; n >= 1; --n) fraction = a + 0.5 * n / fraction;
  const double tail = exp(-a * a) / (1.7724538509055161 * fraction);
  return x > 0 ? 1 - tail : tail - 1;
}

constexpr double pow(double x, double y) {
  if (y == 0 || x == 1) return 1;
  if (x != x || y != y) return nan;
  if (y == trunc(y) && abs(y) <= 64) {
    double r = 1;
    for (int i = 0; i < static_cast<int>(abs(y)); ++i) r = math::mul(r, x);
    return y < 0 ? math::div(1, r) : r;
  }
  if (x < 0) {
    if (y != trunc(y)) return nan;
    const double r = exp(math::mul(y, log(-x)));
    return y / 2 == trunc(y / 2) ? r : -r;
  }
  return exp(math::mul(y, log(x)));
}

}  // namespace series

#define SHEAF_MATH(name)                                                    \
  constexpr double name(double x) {                                         \
    return std::is_constant_evaluated() ? series::name(x) : __builtin_##name(x); \
  }
SHEAF_MATH(exp)
SHEAF_MATH(log)
SHEAF_MATH(log1p)
SHEAF_MATH(expm1)
SHEAF_MATH(sqrt)
SHEAF_MATH(tanh)
SHEAF_MATH(erf)
SHEAF_MATH(asin)
SHEAF_MATH(acos)
SHEAF_MATH(atan)
SHEAF_MATH(sinh)
SHEAF_MATH(cosh)
SHEAF_MATH(asinh)
SHEAF_MATH(acosh)
SHEAF_MATH(atanh)
#undef SHEAF_MATH
constexpr double sin(double x) { return std::is_constant_evaluated() ? series::wave(x, 0) : __builtin_sin(x); }
constexpr double cos(double x) { return std::is_constant_evaluated() ? series::wave(x, 1) : __builtin_cos(x); }
constexpr double tan(double x) {
  return std::is_constant_evaluated() ? div(series::wave(x, 0), series::wave(x, 1)) : __builtin_tan(x);
}
constexpr double pow(double x, double y) {
  return std::is_constant_evaluated() ? series::pow(x, y) : __builtin_pow(x, y);
}
// Never overflows: the exponential is of a number that is not positive.
constexpr double sigmoid(double x) {
  const double e = exp(-abs(x));
  return x >= 0 ? 1 / (1 + e) : e / (1 + e);
}

namespace series {
// What is left of x after y is taken away as often as it goes in, from the largest power of two times y on: each step
// is exact, as t <= x < 2 t.
constexpr double fmod(double x, double y) {
  if (x != x || y != y || !checked::finite(x) || y == 0) return nan;
  const auto power = [](double v) {  // of numbers below the normal ones, too
    return v < 0x1p-1022 ? checked::exponent(v * 0x1p54) - 54 : checked::exponent(v);
  };
  double rest = abs(x);
  const double by = abs(y);
  while (rest >= by && by < infinity) {
    double t = scale(by, power(rest) - power(by));
    if (t > rest) t *= 0.5;
    rest -= t;
  }
  return checked::signed_by(rest, x, 1);
}
}  // namespace series
constexpr double fmod(double x, double y) {
  return std::is_constant_evaluated() ? series::fmod(x, y) : __builtin_fmod(x, y);
}
constexpr bool signs_differ(double a, double b) { return checked::signed_by(1, a, b) < 0; }
// As Python and PyTorch: exact but for one rounding, with the sign of the divisor, or of the dividend where it is 0.
constexpr double remainder(double a, double b) {
  const double r = fmod(a, b);
  return r != 0 && r == r && signs_differ(r, b) ? add(r, b) : r;
}
// The whole number that goes with it: of the exact quotient, also where a / b rounds up to the next one or to 0.
constexpr double quotient(double a, double b) {
  const double q = div(a, b);
  if (b == 0 || q != q) return q;
  if (!checked::finite(a)) return nan;
  if (!checked::finite(b)) return a != 0 && signs_differ(a, b) ? -1 : q;
  if (abs(q) >= 0x1p52 || floor(q) != q) return floor(q);
  return abs(remainder(a, b)) > abs(b) * 0.5 ? q - 1 : q;
}

constexpr std::int64_t floor_quotient(std::int64_t a, std::int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(a));
  const std::int64_t q = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? q - 1 : q;
}
constexpr std::int64_t floor_remainder(std::int64_t a, std::int64_t b) {
  if (b == 0 || b == -1) return 0;
  const std::int64_t r = a % b;
  return (r != 0 && (r < 0) != (b < 0)) ? r + b : r;
}

// As PyTorch: a count below 0 or of all bits and more leaves nothing but the sign.
constexpr std::int64_t shifted_left(std::int64_t a, std::int64_t b) {
  return b < 0 || b > 63 ? 0 : static_cast<std::int64_t>(static_cast<std::uint64_t>(a) << b);
}
constexpr std::int64_t shifted_right(std::int64_t a, std::int64_t b) { return a >> (b < 0 || b > 63 ? 63 : b); }

}  // namespace sheaf::inline v0_1::math
