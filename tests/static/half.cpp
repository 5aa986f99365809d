#include <sheaf/dsl/graph/half.hpp>

namespace {
using namespace sheaf;
static_assert(to_float16(1).bits == 0x3C00 && to_float16(-2).bits == 0xC000 && to_float16(65504).bits == 0x7BFF);
static_assert(to_float16(65520).bits == 0x7C00);                      // half way to 65536 rounds to even: infinity
static_assert(to_float16(65519.99).bits == 0x7BFF);
static_assert(to_float16(0x1p-24).bits == 1 && to_float16(0x1p-25).bits == 0 && to_float16(0x1.8p-24).bits == 2);
static_assert(to_float16(0x1p-14).bits == 0x0400 && to_float16(-0.0).bits == 0x8000);
static_assert(to_float16(1 + 0x1p-11).bits == 0x3C00 && to_float16(1 + 0x1.8p-10).bits == 0x3C02);  // ties to even
static_assert(to_float16(1 + 0x1p-11 + 0x1p-40).bits == 0x3C01);      // by way of f32 this would be a tie
static_assert(to_float16(math::infinity).bits == 0x7C00 && (to_float16(math::nan).bits & 0x7E00) == 0x7E00);
static_assert(to_bfloat16(1).bits == 0x3F80 && to_bfloat16(3.140625).bits == 0x4049 &&
              to_bfloat16(1e39).bits == 0x7F80);

constexpr bool every_bit_pattern_returns() {
  for (std::uint32_t b = 0; b < 0x10000; b += 97) {
    const float16 h{static_cast<std::uint16_t>(b)};
    const bfloat16 f{static_cast<std::uint16_t>(b)};
    const double x = to_double(h), y = to_double(f);
    if (x == x && to_float16(x).bits != h.bits) return false;
    if (y == y && to_bfloat16(y).bits != f.bits) return false;
  }
  return true;
}
static_assert(every_bit_pattern_returns());

static_assert(round_to(element::f32, 0.1) == static_cast<double>(0.1f) &&
              round_to(element::f32, 1e39) == math::infinity);
static_assert(round_to(element::f32, 0x1p-149) == 0x1p-149 && round_to(element::f32, 0x1p-151) == 0);
static_assert(wrap_to(element::i8, 200) == -56 && wrap_to(element::u8, -1) == 255 && wrap_to(element::boolean, 4) == 1);
static_assert(wrap_to(element::i32, std::int64_t{1} << 31) == INT32_MIN);
static_assert(truncate_to(element::i8, -300.5) == -128 && truncate_to(element::i64, 1e30) == INT64_MAX);
static_assert(truncate_to(element::u8, math::nan) == 0 && truncate_to(element::i32, -2.9) == -2);
}  // namespace
