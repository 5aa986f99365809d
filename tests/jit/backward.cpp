// Rows that lanes read backward: whole ones, the rest of a vector, places that a mask leaves out, elements of all
// sizes.
#include "plan_harness.hpp"

namespace sheaf::test::backward_tests {
namespace {

constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto k = axis<"k">;

template <class T>
void expect_turned() {
  constexpr auto x = tensor<"x", T, 2>;
  constexpr auto rows = i.in(0_c, extent(x, dim<0>));
  constexpr auto places = j.in(0_c, extent(x, dim<1>));
  constexpr auto flipped = define<"flipped">(rows, places) = x(i, extent(x, dim<1>) - 1_c - j);
  constexpr auto outside = define<"outside">(rows, places) = x.padded(0_c)(i, 20_c - j);
  for (const std::int64_t columns : {1, 15, 64, 203}) {
    trial t = trial_of(flipped, outside);
    t.random("x", {3, columns});
    t.expect_right(1e-6);
  }
}

TEST(backward, rows_of_any_element) {
  expect_turned<float>();
  expect_turned<double>();
  expect_turned<bfloat16>();
  expect_turned<std::int8_t>();
}

TEST(backward, loads_whole_registers) {
  constexpr auto x = tensor<"x", float, 2>;
  constexpr auto w = tensor<"w", float, 1>;
  constexpr auto columns = j.in(0_c, extent(x, dim<1>));
  constexpr auto flipped = define<"flipped">(i, columns) = x(i, extent(x, dim<1>) - 1_c - j);
  constexpr auto loss = define<"loss">() = sum(over(i, j), flipped(i, j) * x(i, j));
  constexpr auto kernel = define<"kernel">(i, columns) = sum(k.in(0_c, j + 1_c), w(k) * x(i, j - k));
  trial t = trial_of(flipped, grad(loss, x), kernel);
  t.random("x", {5, 100}).random("w", {100});
  t.make();
  const std::string code = ir::print(t.p->code);
  EXPECT_NE(code.find("load deinterleaved step -1"), std::string::npos) << code;
  t.expect_right();
}

}  // namespace
}  // namespace sheaf::test::backward_tests
