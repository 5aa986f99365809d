#include <sheaf/dsl/graph/decimal.hpp>

#include "support/reads.hpp"

namespace {
using namespace sheaf;
constexpr flat<char> shown(double value, element type, bool point = false) {
  flat<char> out;
  append_real(out, value, type, point);
  return out;
}
static_assert(reads(shown(0.1, element::f64), "0.1") && reads(shown(0.1f, element::f32), "0.1"));
static_assert(reads(shown(0.1f, element::f64), "0.10000000149011612"));
static_assert(reads(shown(1, element::f32), "1") && reads(shown(1, element::f32, true), "1.0"));
static_assert(reads(shown(1e-5, element::f64), "1e-5") && reads(shown(-1.25e-7, element::f64), "-1.25e-7"));
static_assert(reads(shown(1e22, element::f64), "1e22") && reads(shown(5e-324, element::f64), "5e-324"));
static_assert(reads(shown(1.7976931348623157e308, element::f64), "1.7976931348623157e308"));
static_assert(reads(shown(123456, element::f32, true), "123456.0") && reads(shown(0.00025, element::f64), "0.00025"));
static_assert(reads(shown(math::infinity, element::f32), "inf") && reads(shown(-math::infinity, element::f32), "-inf"));
static_assert(reads(shown(math::nan, element::f32), "nan") && reads(shown(-0.0, element::f32, true), "-0.0"));
static_assert(reads(shown(65504, element::f16), "65500") && reads(shown(0x1p-24, element::f16), "6e-8"));
}  // namespace
