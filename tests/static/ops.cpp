#include <sheaf/dsl/graph/make.hpp>

namespace {
using namespace sheaf;
constexpr double inf = math::infinity, nan = math::nan;
constexpr double largest = 1.7976931348623157e308;

constexpr double real(op kind, double a, double b = 0, double c = 0) { return row(kind).real(a, b, c); }
constexpr std::int64_t whole(op kind, std::int64_t a, std::int64_t b = 0) { return row(kind).integer(a, b, 0); }
constexpr bool is_nan(double x) { return x != x; }

static_assert(real(op::add, largest, largest) == inf && is_nan(real(op::add, inf, -inf)) && real(op::add, 1, 2) == 3);
static_assert(real(op::sub, -largest, largest) == -inf && is_nan(real(op::sub, inf, inf)));
static_assert(real(op::mul, 1e200, -1e200) == -inf && is_nan(real(op::mul, 0, inf)) &&
              real(op::mul, 1e200, 1e108) == 1e308);
static_assert(real(op::div, 1, 0) == inf && real(op::div, -1, 0) == -inf && is_nan(real(op::div, 0, 0)));
static_assert(real(op::div, 1e300, 1e-300) == inf && real(op::div, 1, inf) == 0 && real(op::div, 1e308, 0.5) == inf);
static_assert(real(op::neg, 0) == 0 && real(op::abs, -2.5) == 2.5 && real(op::sign, -3) == -1 &&
              real(op::sign, nan) == 0);
static_assert(real(op::minimum, 1, 2) == 1 && is_nan(real(op::minimum, 1, nan)) && is_nan(real(op::maximum, nan, 1)));
static_assert(real(op::quotient, -7, 2) == -4 && real(op::remainder, -7, 2) == 1 && is_nan(real(op::remainder, 1, 0)));
static_assert(real(op::pow, 1e200, 3) == inf && real(op::pow, 0, -1) == inf && real(op::pow, 2, -2) == 0.25);
static_assert(real(op::equal, nan, nan) == 0 && real(op::not_equal, nan, nan) == 1 && real(op::less, 1, nan) == 0);
static_assert(real(op::select, 1, 2, 3) == 2 && real(op::select, 0, 2, 3) == 3 && real(op::select, nan, 2, 3) == 2);
static_assert(real(op::logical_not, 0) == 1 && real(op::logical_and, 2, 0) == 0 && real(op::logical_or, 0, -1) == 1);
static_assert(real(op::exp, 0) == 1 && real(op::log, 1) == 0 && real(op::sqrt, 9) == 3 && real(op::sigmoid, 0) == 0.5);
static_assert(real(op::floor, -0.5) == -1 && real(op::ceil, 0.5) == 1 && real(op::round, 0.5) == 0);
static_assert(whole(op::add, INT64_MAX, 1) == INT64_MIN && whole(op::neg, INT64_MIN) == INT64_MIN);
static_assert(whole(op::mul, INT64_MAX, 2) == -2 && whole(op::abs, -4) == 4 && whole(op::sign, -4) == -1);
static_assert(whole(op::quotient, -7, 2) == -4 && whole(op::remainder, 7, -2) == -1 && whole(op::quotient, 1, 0) == 0);
static_assert(whole(op::maximum, 2, 3) == 3 && whole(op::less_equal, 3, 3) == 1 && whole(op::logical_and, 2, 4) == 1);
static_assert(whole(op::bit_and, 12, 10) == 8 && whole(op::bit_xor, 12, 10) == 6 && whole(op::bit_not, 0) == -1);
static_assert(whole(op::shift_left, 1, 64) == 0 && whole(op::shift_right, -8, 70) == -1 &&
              whole(op::shift_right, -8, 1) == -4);
// The largest u64 has the bits of -1.
static_assert(whole_result(row(op::less), element::u64, 7, -1, 0) == 1 &&
              whole_result(row(op::maximum), element::u64, 7, -1, 0) == -1 &&
              whole_result(row(op::quotient), element::u64, -1, 2, 0) == INT64_MAX &&
              whole_result(row(op::shift_right), element::u64, -1, 63, 0) == 1);
static_assert(real_of(element::f64, -1, element::u64) == 18446744073709551616.0);
static_assert(truncate_to(element::u64, 1e30) == -1 && truncate_to(element::u16, -3) == 0);
}  // namespace
