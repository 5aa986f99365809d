#include <sheaf/dsl/graph/constexpr_math.hpp>

namespace {
using namespace sheaf;
constexpr bool near(double x, double expected, int ulps = 4) {
  if (expected != expected) return x != x;
  return x == expected || math::abs(x - expected) <= ulps * 0x1p-52 * math::abs(expected);
}
static_assert(near(math::exp(1), 2.718281828459045) && near(math::exp(-20.5), 1.2501528663867426e-09));
static_assert(math::exp(710) == math::infinity && math::exp(-800) == 0 && math::exp(-math::infinity) == 0);
static_assert(near(math::exp(-740), 4.2e-322, 1 << 30) && math::exp(0) == 1);
static_assert(near(math::log(10), 2.302585092994046) && near(math::log(1e-310), -713.8013788281542));
static_assert(math::log(0) == -math::infinity && math::log(1) == 0 && near(math::log(-1), math::nan));
static_assert(near(math::log1p(1e-10), 9.9999999995e-11) && near(math::expm1(1e-10), 1.00000000005e-10));
static_assert(math::log1p(-1) == -math::infinity && math::expm1(-800) == -1);
static_assert(math::sqrt(2) == 0x1.6a09e667f3bcdp+0 && math::sqrt(1.7976931348623157e308) > 0x1p511 &&
              math::sqrt(0x1p-1000) == 0x1p-500 &&
              near(math::sqrt(-1), math::nan));
static_assert(near(math::tanh(0.5), 0.46211715726000973) && math::tanh(-400) == -1 && near(math::tanh(1e-9), 1e-9));
static_assert(near(math::sin(1), 0.8414709848078965) && near(math::cos(1), 0.5403023058681398));
static_assert(near(math::sin(1000), 0.8268795405320025, 8) && near(math::cos(-1e4), -0.9521553682590149, 64));
static_assert(near(math::erf(0.5), 0.5204998778130465) && near(math::erf(3), 0.9999779095030014) &&
              math::erf(-9) == -1);
static_assert(near(math::tan(1), 1.5574077246549023, 8) && near(math::atan(1), 0.78539816339744828, 8) &&
              near(math::atan(-math::infinity), -1.5707963267948966) && near(math::atan(1e-9), 1e-9));
static_assert(near(math::asin(0.5), 0.52359877559829887, 8) && near(math::acos(-0.5), 2.0943951023931957, 8) &&
              near(math::asin(2), math::nan) && math::acos(1) == 0);
static_assert(near(math::sinh(1), 1.1752011936438014, 8) && near(math::cosh(710), 1.1169973830808557e308, 1 << 12));
static_assert(near(math::asinh(-2), -1.4436354751788103, 8) && near(math::acosh(2), 1.3169578969248166, 8) &&
              near(math::atanh(0.5), 0.54930614433405489, 8) && math::atanh(-1) == -math::infinity);
static_assert(near(math::pow(2, 0.5), 1.4142135623730951) && math::pow(-2, 3) == -8 &&
              near(math::pow(-2, 0.5), math::nan));
static_assert(math::pow(math::nan, 0) == 1 && near(math::sigmoid(2), 0.8807970779778823) && math::sigmoid(-1000) == 0);
static_assert(math::round(2.5) == 2 && math::round(3.5) == 4 && math::round(-2.5) == -2 &&
              math::round(0.49999999999999994) == 0);
static_assert(math::floor(-1.5) == -2 && math::ceil(-1.5) == -1 && math::trunc(-1.5) == -1);
static_assert(math::floor_quotient(-7, 2) == -4 && math::floor_remainder(-7, 2) == 1 &&
              math::floor_remainder(7, -2) == -1);
// fmod is exact, however large the quotient; what is left has the divisor's sign; the quotient is the exact one's.
static_assert(math::fmod(1e300, 7) == 1.0 && math::fmod(-1e308, 7e-320) == -5.324e-320);
static_assert(math::fmod(5e-324, 1e-323) == 5e-324);
static_assert(math::remainder(1, 0.1) == 0.09999999999999995 && math::quotient(1, 0.1) == 9 &&
              math::remainder(-1e-20, 1) == 1);
static_assert(math::remainder(5, math::infinity) == 5 && math::remainder(-5, math::infinity) == math::infinity);
static_assert(math::quotient(5, math::infinity) == 0 && math::quotient(-5, math::infinity) == -1);
static_assert(near(math::remainder(math::infinity, 2), math::nan) && near(math::remainder(1, 0), math::nan));
static_assert(near(math::quotient(math::infinity, 2), math::nan) && math::quotient(-1, 0) == -math::infinity);
static_assert(math::floor_quotient(INT64_MIN, -1) == INT64_MIN && math::floor_quotient(1, 0) == 0);
}  // namespace
