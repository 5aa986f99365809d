// Gradients of dilated convolutions by their images: of the places around a result only every d-th has a term, and
// those alone are walked. Values against the evaluator, and what the plan and the code say.
#include "convolutions.hpp"

namespace sheaf::test::steps_tests {
namespace {

using namespace convolutions;

bool rule_applies(trial& t) { return t.plan_text().find("steps") != std::string::npos; }
bool divides(trial& t) { return ir::print(t.p->code).find("remainder") != std::string::npos; }

// As wide as x, padded on both sides.
template <std::int64_t Apart>
constexpr auto dilated() {
  constexpr auto apart = constant<Apart>;
  constexpr auto places = i.in(0_c, extent(x, dim<2>));
  constexpr auto y = define<"y">(n.in(0_c, extent(x, dim<0>)), o, places) =
      sum(over(c, u), x.padded(0_c)(n, c, i + (u - 1_c) * apart) * w(o, c, u));
  return define<"loss">() = sum(over(n.in(0_c, extent(x, dim<0>)), o, places), y(n, o, i) * y(n, o, i));
}

template <std::int64_t Apart>
void expect_right() {
  constexpr auto loss = dilated<Apart>();
  constexpr std::pair<std::int64_t, std::int64_t> shapes[] = {{5, 1},  {5, 6},  {40, 2}, {40, 6},
                                                              {67, 1}, {67, 3}, {67, 6}};
  for (const auto& [width, places] : shapes) {
    SCOPED_TRACE(testing::Message() << Apart << " apart, width " << width << ", places " << places);
    trial t = trial_of(grad(loss, x), grad(loss, w));
    t.random("x", {2, 3, width}).random("w", {4, 3, places});
    EXPECT_TRUE(rule_applies(t)) << t.plan_text();
    EXPECT_FALSE(divides(t)) << ir::print(t.p->code);
    t.expect_right(1e-5);
  }
}

TEST(steps, any_dilation) {
  expect_right<2>();
  expect_right<3>();
  expect_right<7>();
}

TEST(steps, of_two_dimensions) {
  constexpr auto batch = n.in(0_c, extent(images, dim<0>));
  constexpr auto down = i.in(0_c, extent(images, dim<2>));
  constexpr auto across = j.in(0_c, extent(images, dim<3>));
  constexpr auto y = define<"y">(batch, o, down, across) =
      sum(over(c, u, v), images.padded(0_c)(n, c, i + 2_c * u - 2_c, j + 3_c * v - 3_c) * weights(o, c, u, v));
  constexpr auto loss = define<"loss">() = sum(over(batch, o, down, across), y(n, o, i, j) * y(n, o, i, j));
  trial t = trial_of(grad(loss, images));
  t.random("images", {2, 5, 9, 37}).random("weights", {6, 5, 3, 3});
  EXPECT_TRUE(t.plan_text().find("3 points unrolled") != std::string::npos) << t.plan_text();
  EXPECT_FALSE(divides(t)) << ir::print(t.p->code);
  t.expect_right(1e-5);
}

// Conditions in a program's own words: from either side, of a place that more indices say, and extrema.
TEST(steps, conditions_of_any_sum) {
  constexpr auto row = tensor<"row", float, 1>;
  constexpr auto up = define<"up">(j.in(0_c, extent(row, dim<0>))) = sum(i.where((i + j) % 3_c == 0_c), row(i));
  constexpr auto down = define<"down">(j.in(0_c, extent(row, dim<0>))) = max(i.where((j - i) % 4_c == 0_c), row(i));
  constexpr auto part = define<"part">(j.in(0_c, extent(row, dim<0>))) =
      sum(i.in(0_c, j).where((j - i) % 2_c == 0_c), row(i) * cast<float>(quotient(j - i, 2_c)));
  trial t = trial_of(up, down, part);
  t.random("row", {50});
  EXPECT_TRUE(rule_applies(t)) << t.plan_text();
  EXPECT_FALSE(divides(t)) << ir::print(t.p->code);
  t.expect_right(1e-5);
}

}  // namespace
}  // namespace sheaf::test::steps_tests
