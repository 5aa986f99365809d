// Folds that count down from the end of an axis to a place of it are running results like those that count up.
#include "plan_harness.hpp"

namespace sheaf::test::descending_tests {
namespace {

constexpr auto b = axis<"b">;
constexpr auto t = axis<"t">;
constexpr auto s = axis<"s">;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto a = tensor<"a", float, 2>;
constexpr auto length = extent(x, dim<1>);

void expect_scan(trial& test) {
  EXPECT_NE(test.plan_text().find(", scan"), std::string::npos) << test.plan_text();
  test.expect_right(1e-5);
}

TEST(descending, sums) {
  constexpr auto y = define<"y">(b, t.in(0_c, length)) = sum(s.in(length - 1_c, t - 1_c, -1_c), x(b, s));
  for (const std::int64_t places : {1, 7, 130}) {
    trial test = trial_of(y);
    test.random("x", {5, places});
    expect_scan(test);
  }
}

TEST(descending, extrema_after_a_place) {
  constexpr auto y = define<"y">(b, t.in(0_c, length)) = max(s.in(length - 1_c, t, -1_c), x(b, s));
  trial test = trial_of(y);
  test.random("x", {5, 130});
  expect_scan(test);
}

// Elements are combined from the last to the first: the monoid's states are exchanged.
TEST(descending, recurrences) {
  constexpr auto affine = own_monoid<"affine">(tuple(1_c, 0_c), [](auto first, auto then) {
                            auto [p, q] = first;
                            auto [u, v] = then;
                            return tuple(p * u, u * q + v);
                          }).in_order();
  constexpr auto y = define<"y">(b, t.in(0_c, length)) =
      get<1>(fold(affine, s.in(length - 1_c, t - 1_c, -1_c), tuple(a(b, s), x(b, s))));
  constexpr auto z = define<"z">(b, t.in(0_c, length)) =
      get<1>(fold(affine, s.in(0_c, t + 1_c), tuple(a(b, s), x(b, s))));
  trial test = trial_of(y, z);
  test.random("x", {5, 130}).random("a", {5, 130});
  expect_scan(test);
}

TEST(descending, gradients) {
  constexpr auto y = define<"y">(b, t.in(0_c, length)) = sum(s.in(length - 1_c, t - 1_c, -1_c), x(b, s) * x(b, s));
  constexpr auto loss = define<"loss">() = sum(over(b, t.in(0_c, length)), y(b, t) * a(b, t));
  trial test = trial_of(grad(loss, x));
  test.random("x", {5, 130}).random("a", {5, 130});
  test.expect_right(1e-5);
}

}  // namespace
}  // namespace sheaf::test::descending_tests
