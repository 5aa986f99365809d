// Where a program rounds: at its casts, each of them. By kernels as by the reference, to the bit.
#include <gtest/gtest.h>

#include <sheaf/text.hpp>

namespace sheaf::test::rounding_tests {
namespace {

// 0.3378... + 0.6960... lies halfway between two numbers of f32; 5 times a fifth of it, in f64, lies beside.
TEST(rounding, an_accumulated_sum_is_rounded_before_it_is_divided) {
  array<float, 1> x(2);
  x(0) = 0.33787977695465088f;
  x(1) = 0.69602519273757935f;
  for (const auto runs_on : {jit::backend::reference, jit::backend::chosen}) {
    const text_program program("y = mean(q.in(0, 5), sum<accumulate<f64>>(k, x(k)))", {}, runs_on);
    EXPECT_EQ((program({{"x", x}})[0].as<const float, 0>()()), 1.033905029296875f);
  }
}

// The square of the largest number of f16 is stored as an infinity, which it then ties with.
TEST(rounding, ties_of_halves_are_those_of_what_would_be_stored) {
  array<float16, 1> x(3);
  x(0) = to_float16(-65504);
  x(1) = to_float16(2);
  x(2) = to_float16(math::infinity);
  for (const auto runs_on : {jit::backend::reference, jit::backend::chosen}) {
    const auto found = text_program("y = max(i, x(i) * x(i))\noutput grad(y, x)", {}, runs_on)({{"x", x}});
    const auto dx = found[0].as<const float16, 1>();
    EXPECT_EQ(to_double(dx(0)), -65504);
    EXPECT_EQ(to_double(dx(1)), 0);
    EXPECT_EQ(to_double(dx(2)), math::infinity);
  }
}

}  // namespace
}  // namespace sheaf::test::rounding_tests
