// Where a program rounds: at its casts, each of them. By kernels as by the reference, to the bit.
#include <gtest/gtest.h>

#include <sheaf/text.hpp>

namespace sheaf::test {
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

}  // namespace
}  // namespace sheaf::test
