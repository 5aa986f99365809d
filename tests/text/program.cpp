// program<"...">: the C++ compiler reads it; it is the program that the surface writes.
#include <sheaf/text.hpp>
#include <support/both.hpp>

namespace sheaf::test::program_tests {
namespace {

const std::vector<float> row_data = [] {
  std::vector<float> v(40);
  for (int i = 0; i < 40; ++i) v[static_cast<std::size_t>(i)] = static_cast<float>(i);
  return v;
}();
const auto rows = view_of(row_data.data(), 10, 4);
const std::int64_t bounds[4][2] = {{3, 5}, {1, 8}, {4, 8}, {6, 9}};

TEST(program_text, tensors_take_their_types_from_the_arguments) {
  const auto step = compile(program<"pooled(m, f) = mean(t.in(cut(m, 0), cut(m, 1)), x(t, f))">);
  const array<float, 2> y = step(arg<"x"> = rows, arg<"cut"> = bounds);
  EXPECT_EQ(y(0, 0), 14);
  EXPECT_EQ(y(3, 3), 31);
  const std::vector<double> wide(row_data.begin(), row_data.end());
  const array<double, 2> z = step(arg<"x"> = view_of(wide.data(), 10, 4), arg<"cut"> = bounds);
  EXPECT_EQ(z(3, 3), 31);
}

TEST(program_text, outputs_in_views_and_gradients) {
  constexpr auto text = program<R"(pooled(m, f) = mean(t.in(cut(m, 0), cut(m, 1)), x(t, f))
loss = sum(over(m, f), pooled(m, f) * pooled(m, f))
output loss, grad(loss, x))">;
  float loss = 0;
  const array<float, 2> dx = compile(text)(arg<"x"> = rows, arg<"cut"> = bounds, arg<"loss"> = loss);
  const auto [slow, slow_dx] = reference(text)(arg<"x"> = rows, arg<"cut"> = bounds);
  EXPECT_EQ(loss, 7896);
  EXPECT_EQ(static_cast<float>(slow), 7896);
  expect_agree(dx, slow_dx, 8, "dloss_dx");
  EXPECT_EQ(dx(9, 0), 0);
}

TEST(program_text, outputs_are_added_to_what_is_there) {
  const auto step = compile(program<"y(i) = 2 * x(i)\nloss = sum(i, y(i))\noutput y, loss">);
  const float x[3] = {1, 2, 3};
  float sums[3] = {10, 20, 30};
  const array<float, 0> loss = step(arg<"x"> = x, arg<"y"> += sums);
  EXPECT_EQ(loss(), 12);
  EXPECT_EQ(sums[2], 36);
  float all = 1;
  step(arg<"loss"> += all, arg<"x"> = x, arg<"y"> += sums);
  EXPECT_EQ(all, 13);
  EXPECT_EQ(sums[0], 14);
}

}  // namespace
}  // namespace sheaf::test::program_tests
