// The integer operations that libraries of kernels evaluate are those of the language: each row of ops.hpp, and what
// formulas of extents have beside them.
#include <random>

#include <gtest/gtest.h>

#include <sheaf/dsl/graph/make.hpp>
#include <sheaf/jit/shapes/amount.hpp>
#include <sheaf/runtime/sheaf_call.h>

#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wold-style-cast"
#define SK_PLACES 1
#define SK_FORMULAS 1
namespace c {
enum { sk_bool, sk_i8, sk_u8, sk_i16, sk_u16, sk_i32, sk_u32, sk_i64, sk_u64 };
#include <sheaf/aot/runtime/tables.h>
#include <sheaf/aot/runtime/calls.c>
}  // namespace c

using namespace sheaf;

namespace {

struct named {
  const char* name;
  int code;
};
constexpr named names[] = {
#define SHEAF_OP(name) {#name, c::sk_##name}
    SHEAF_OP(neg), SHEAF_OP(abs), SHEAF_OP(sign), SHEAF_OP(floor), SHEAF_OP(ceil), SHEAF_OP(round),
    SHEAF_OP(logical_not), SHEAF_OP(cast), SHEAF_OP(add), SHEAF_OP(sub), SHEAF_OP(mul), SHEAF_OP(quotient),
    SHEAF_OP(remainder), SHEAF_OP(minimum), SHEAF_OP(maximum), SHEAF_OP(equal), SHEAF_OP(not_equal), SHEAF_OP(less),
    SHEAF_OP(less_equal), SHEAF_OP(logical_and), SHEAF_OP(logical_or), SHEAF_OP(select), SHEAF_OP(bit_not),
    SHEAF_OP(bit_and), SHEAF_OP(bit_or), SHEAF_OP(bit_xor), SHEAF_OP(shift_left), SHEAF_OP(shift_right)
#undef SHEAF_OP
};

std::int64_t some(std::mt19937_64& random) {
  const auto bits = static_cast<std::int64_t>(random());
  switch (bits & 7) {
    case 0: return 0;
    case 1: return -1;
    case 2: return INT64_MIN;
    case 3: return bits;
    default: return bits % 100;
  }
}

}  // namespace

TEST(ahead, integer_operations_are_those_of_the_language) {
  std::mt19937_64 random(3);
  int rows = 0;
  for (const op_row& r : op_rows) {
    if (r.integer == nullptr) continue;
    const auto known = std::find_if(std::begin(names), std::end(names),
                                    [&](const named& n) { return std::string(n.name) == r.name; });
    ASSERT_NE(known, std::end(names)) << r.name << " is missing in aot/runtime";
    ++rows;
    for (int k = 0; k < 2000; ++k) {
      const std::int64_t x = some(random), y = some(random), z = some(random);
      ASSERT_EQ(c::sk_applied(known->code, x, y, z), r.integer(x, y, z)) << r.name << " " << x << " " << y << " " << z;
    }
  }
  EXPECT_EQ(rows, static_cast<int>(std::size(names)));
}

TEST(ahead, formulas_have_their_own_operations_too) {
  for (const std::int64_t n : {0, 1, 2, 3, 64, 1000000}) {
    EXPECT_EQ(c::sk_applied(c::sk_bit_width, n, 0, 0), shapes::bits_of(n, 0, 0));
    EXPECT_EQ(c::sk_applied(c::sk_truncated_remainder, n - 5, 16, 0), shapes::truncated_remainder(n - 5, 16, 0));
  }
}
