// Gradients of strided convolutions by their images: the results between two places of the window are phases, each a
// stencil of its own. Values against the evaluator, and what the plan says.
#include "convolutions.hpp"

namespace sheaf::test::result_phases_tests {
namespace {

using namespace convolutions;

bool says(trial& t, const std::string& words) { return t.plan_text().find(words) != std::string::npos; }

template <std::int64_t Step, std::int64_t Padding>
constexpr auto strided() {
  constexpr auto step = constant<Step>;
  constexpr auto padding = constant<Padding>;
  constexpr auto places = i.in(0_c, quotient(extent(x, dim<2>) + 2_c * padding - extent(w, dim<2>), step) + 1_c);
  constexpr auto y = define<"y">(n.in(0_c, extent(x, dim<0>)), o, places) =
      sum(over(c, u), x.padded(0_c)(n, c, step * i + u - padding) * w(o, c, u));
  return define<"loss">() = sum(over(n.in(0_c, extent(x, dim<0>)), o, places), y(n, o, i) * y(n, o, i));
}

// Widths with and without a rest, windows narrower than the step, as wide, and wider.
template <std::int64_t Step, std::int64_t Padding>
void expect_right() {
  constexpr auto loss = strided<Step, Padding>();
  constexpr std::pair<std::int64_t, std::int64_t> shapes[] = {{40, 1}, {40, 4}, {41, 2}, {41, 5},
                                                              {43, 1}, {43, 2}, {43, 4}, {43, 5}};
  for (const auto& [width, places] : shapes) {
    SCOPED_TRACE(testing::Message() << "step " << Step << ", width " << width << ", places " << places);
    trial t = trial_of(grad(loss, x));
    t.random("x", {2, 3, width}).random("w", {4, 3, places});
    t.expect_right(1e-5);
  }
}

TEST(result_phases, any_step_and_width) {
  expect_right<2, 0>();
  expect_right<2, 1>();
  expect_right<3, 1>();
  expect_right<4, 0>();
  expect_right<5, 2>();
}

// Of a window of three places every other result has one and every other two.
TEST(result_phases, of_two_dimensions) {
  constexpr auto half = [](auto e) { return quotient(e - 1_c, 2_c) + 1_c; };
  constexpr auto down = i.in(0_c, half(extent(images, dim<2>)));
  constexpr auto across = j.in(0_c, half(extent(images, dim<3>)));
  constexpr auto batch = n.in(0_c, extent(images, dim<0>));
  constexpr auto y = define<"y">(batch, o, down, across) =
      sum(over(c, u, v), images.padded(0_c)(n, c, 2_c * i + u - 1_c, 2_c * j + v - 1_c) * weights(o, c, u, v));
  constexpr auto loss = define<"loss">() = sum(over(batch, o, down, across), y(n, o, i, j) * y(n, o, i, j));
  for (const std::int64_t width : {33, 48}) {
    trial t = trial_of(grad(loss, images));
    t.random("images", {2, 5, 9, width}).random("weights", {6, 5, 3, 3});
    EXPECT_TRUE(says(t, "every 2 results sum other places")) << t.plan_text();
    EXPECT_TRUE(says(t, "1 points unrolled")) << t.plan_text();
    EXPECT_TRUE(says(t, "2 points unrolled")) << t.plan_text();
    EXPECT_EQ(ir::print(t.p->code).find("gather"), std::string::npos) << ir::print(t.p->code);
    t.expect_right(1e-5);
  }
}

}  // namespace
}  // namespace sheaf::test::result_phases_tests
