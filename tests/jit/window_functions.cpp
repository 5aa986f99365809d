// Slow functions of what windows hold: stored once for each place, at places forwards, backwards, apart and in two
// dimensions, and where data and masks say what is read; and what is not worth it.
#include "plan_harness.hpp"

namespace sheaf::test::window_functions_tests {
namespace {

constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto t = axis<"t">;
constexpr auto u = axis<"u">;
constexpr auto v = axis<"v">;
constexpr auto f = axis<"f">;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto w = tensor<"w", float, 1>;
constexpr auto id = tensor<"id", std::int64_t, 1>;
constexpr auto keep = tensor<"keep", bool, 1>;
constexpr auto rows = extent(x, dim<0>);
constexpr auto window = u.in(0_c, 9_c);

void expect_stored(trial& test, bool stored = true, double tolerance = 1e-5) {
  test.expect_right(tolerance);
  const std::string plan = test.plan_text();
  EXPECT_EQ(plan.find("a slow function of what several ranges hold") != std::string::npos, stored) << plan;
}

TEST(window_functions, of_places_on_a_line) {
  constexpr auto forwards = define<"forwards">(t.in(0_c, rows - 8_c), f) = sum(window, w(u) * tanh(x(t + u, f)));
  constexpr auto backwards = define<"backwards">(t.in(0_c, rows - 8_c), f) =
      sum(window, w(u) * tanh(x(t + 8_c - u, f)));
  constexpr auto apart = define<"apart">(t.in(0_c, rows - 40_c), f) = max(window, w(0_c) + sin(x(t + 5_c * u, f)));
  constexpr auto strided = define<"strided">(t.in(0_c, quotient(rows - 9_c, 2_c) + 1_c), f) =
      sum(window, exp(x(2_c * t + u, f)) * w(u));
  const auto right = [](auto y) {
    trial test = trial_of(y);
    expect_stored(test.random("x", {1000, 20}).random("w", {9}));
  };
  right(forwards), right(backwards), right(apart), right(strided);
}

TEST(window_functions, of_two_dimensions) {
  constexpr auto y = define<"y">(i.in(0_c, rows - 4_c), j.in(0_c, extent(x, dim<1>) - 4_c)) =
      sum(over(u.in(0_c, 5_c), v.in(0_c, 5_c)), w(u) * w(v) * tanh(x(i + u, j + v)));
  constexpr auto loss = define<"loss">() = sum(over(i.in(0_c, rows - 4_c), j.in(0_c, extent(x, dim<1>) - 4_c)),
                                               y(i, j) * y(i, j));
  trial test = trial_of(y, grad(loss, x), grad(loss, w));
  expect_stored(test.random("x", {120, 130}).random("w", {5}));
}

// What a mask leaves out names no row, and what is between two windows is not read.
TEST(window_functions, of_places_that_data_names) {
  constexpr auto y = define<"y">(t.in(0_c, extent(id, dim<0>) - 8_c), f) =
      sum(window.where(keep(t + u)), w(u) * exp(x(id(t + u), f)));
  std::vector<double> named, kept;
  for (int n = 0; n < 600; ++n) named.push_back(n % 3 == 0 ? 1000000 : n * n % 40), kept.push_back(n % 3 != 0);
  trial test = trial_of(y);
  test.random("x", {40, 32}).random("w", {9}).with("id", {600}, named).with("keep", {600}, kept);
  expect_stored(test);
}

TEST(window_functions, of_few_places_or_few_windows) {
  constexpr auto once = define<"once">(t.in(0_c, quotient(rows, 9_c)), f) = sum(window, w(u) * tanh(x(9_c * t + u, f)));
  constexpr auto both = define<"both">(t.in(0_c, rows - 8_c), f) = sum(window, w(u) * tanh(x(t + u, f) - x(t, f)));
  constexpr auto small = define<"small">(t.in(0_c, rows - 8_c), f) = sum(window, w(u) * tanh(x(t + u, f)));
  for (const std::int64_t many : {700, 20}) {
    trial a = trial_of(once), b = trial_of(both), c = trial_of(small);
    for (trial* test : {&a, &b, &c}) test->random("x", {many, 20}).random("w", {9});
    expect_stored(a, false), expect_stored(b, false), expect_stored(c, many == 700);
  }
}

// Places of places; values of pairs, which no tensor has an element for; halves, which are rounded once.
TEST(window_functions, of_several_indices_in_one_place) {
  constexpr auto l = tensor<"l", float, 1>;
  constexpr auto z = tensor<"z", float, 1>;
  constexpr auto h = tensor<"h", float16, 1>;
  constexpr auto m = axis<"m">;
  constexpr auto most = define<"most">(t.in(0_c, extent(l, dim<0>) - 9_c)) = max(window, l(t + u));
  constexpr auto both = define<"both">(t.in(0_c, extent(l, dim<0>) - 9_c)) =
      sum(over(u.in(0_c, 5_c), v.in(0_c, 4_c)), tanh(l(t + u + v)));
  trial(detail::build_graph<decltype(most), decltype(both)>()).random("l", {6000}).expect_right();
  constexpr auto pairs = define<"pairs">(t.in(0_c, extent(l, dim<0>) - 4_c)) =
      sum(over(m.in(0_c, extent(z, dim<0>)), u.in(0_c, 4_c)), exp(l(t + u) * z(m)));
  trial of_pairs = trial_of(pairs);
  expect_stored(of_pairs.random("l", {3000}).random("z", {60}), false);
  constexpr auto top = define<"top">(t.in(0_c, extent(h, dim<0>) - 9_c)) = max(window, h(u) * exp(h(t + u)));
  trial of_halves = trial_of(top);
  expect_stored(of_halves.random("h", {9000}), true, 1e-3);
}

// Of masked terms, one of which may be infinite: the product is NaN where another is 0.
TEST(window_functions, products_of_masked_terms) {
  constexpr auto d = tensor<"d", double, 1>;
  constexpr auto places = t.in(0_c, extent(d, dim<0>) - 3_c);
  constexpr auto y = define<"y">(places) = prod(u.in(t, t + 4_c), select(u != 5_c, 1_c / (d(u) * 0_c), 0_c));
  constexpr auto running = define<"running">(t.in(0_c, extent(d, dim<0>))) =
      prod(u.in(0_c, t + 1_c), select(u != 900_c, d(u) * 1000_c, 0_c));
  trial test = trial_of(y, running);
  test.force_for_tests = true;
  test.with("d", {1000}, std::vector<double>(1000, 1.0)).expect_right();
}

}  // namespace
}  // namespace sheaf::test::window_functions_tests
