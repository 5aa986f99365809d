// Folds of tuples: one accumulator for all values of a state, in lanes unless in order, long ones in blocks, running
// ones as scans; right whatever the tasks.
#include "plan_harness.hpp"

namespace sheaf::test::tuple_folds_tests {
namespace {

constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto s = axis<"s">;
constexpr auto x = tensor<"x", float, 1>;
constexpr auto y = tensor<"y", float, 1>;
constexpr auto m = tensor<"m", float, 2>;

constexpr auto moments = own_monoid<"moments">(tuple(0_c, 0_c, 0_c), [](auto a, auto b) {
  auto [n, mean_a, m_a] = a;
  auto [k, mean_b, m_b] = b;
  const auto part = k / maximum(n + k, 1_c);
  const auto gap = mean_b - mean_a;
  return tuple(n + k, mean_a + gap * part, m_a + m_b + gap * gap * n * part);
});
constexpr auto affine = own_monoid<"affine">(tuple(1_c, 0_c), [](auto first, auto then) {
                          auto [a, b] = first;
                          auto [c, d] = then;
                          return tuple(a * c, c * b + d);
                        }).in_order();
constexpr auto moments_of(auto over, auto e) { return fold(moments, over, tuple(1_c, e, 0_c)); }

int count_of(const std::string& text, const std::string& words) {
  int n = 0;
  for (std::size_t at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) ++n;
  return n;
}
std::string ir_of(trial& test) {
  test.plan_text();
  return ir::print(test.p->code);
}

TEST(tuple_folds, one_accumulator_for_all_values_of_a_state) {
  constexpr auto state = moments_of(j, m(i, j));
  constexpr auto mean_of = define<"mean_of">(i) = get<1>(state);
  constexpr auto variance = define<"variance">(i) = get<2>(state) / get<0>(state);
  for (const bool transposed : {false, true}) {
    trial test = trial_of(mean_of, variance);
    test.random("m", {37, 101}, transposed).expect_right();
    EXPECT_EQ(count_of(ir_of(test), "accumulator fold"), 1) << ir_of(test);
    EXPECT_EQ(count_of(ir_of(test), "load "), 1) << ir_of(test);
  }
}
TEST(tuple_folds, long_ones_in_blocks_that_read_the_data_once) {
  constexpr auto state = moments_of(i, x(i));
  trial test = trial_of(define<"mean_of">() = get<1>(state), define<"variance">() = get<2>(state) / get<0>(state));
  test.random("x", {300000}).expect_right(1e-4);
  const std::string text = ir_of(test);
  EXPECT_NE(test.plan_text().find("blocks of"), std::string::npos) << test.plan_text();
  EXPECT_EQ(count_of(text, "x["), 1) << text;
  EXPECT_EQ(count_of(text, "accumulator fold"), 2) << text;
}
// The rows of over(i, j) follow each other: only the outermost index may be cut, and no lane may run along either.
TEST(tuple_folds, in_order) {
  constexpr auto last = define<"last">() = get<1>(fold(affine, over(i, j), tuple(0.5_c * m(i, j), m(i, j))));
  for (const auto& [rows, columns] : {std::pair<int, int>{3, 50000}, {50000, 3}, {700, 700}}) {
    trial test = trial_of(last);
    test.random("m", {rows, columns}).expect_right();
    EXPECT_EQ(count_of(ir_of(test), "fold_lanes"), 0) << ir_of(test);
  }
}
// A sum in lanes over the same index does not draw one in order into its loop.
TEST(tuple_folds, in_order_beside_a_sum) {
  constexpr auto both = define<"both">(i) = sum(j, m(i, j)) + get<1>(fold(affine, j, tuple(0.5_c * m(i, j), m(i, j))));
  trial test = trial_of(both);
  test.random("m", {40, 333}).expect_right();
}
TEST(tuple_folds, running_ones_are_scans) {
  constexpr auto up = define<"up">(i) = get<1>(fold(affine, s.in(0_c, i + 1_c), tuple(x(s), y(s)))) + 0_c * x(i);
  constexpr auto down = define<"down">(i) =
      get<1>(fold(affine, s.in(i, extent(x, dim<0>)), tuple(x(s), y(s)))) + 0_c * x(i);
  constexpr auto before = define<"before">(i) = get<2>(moments_of(s.in(0_c, i), x(s))) + 0_c * x(i);
  constexpr auto after = define<"after">(i) =
      get<1>(fold(affine, s.in(i + 1_c, extent(x, dim<0>)), tuple(x(s), y(s)))) + 0_c * x(i);
  for (const std::int64_t size : {0, 1, 2, 17, 300}) {
    trial test = trial_of(up, down, before, after);
    test.random("x", {size}).random("y", {size}).expect_right();
    EXPECT_GE(count_of(test.plan_text(), ", scan"), 4) << test.plan_text();
  }
}
TEST(tuple_folds, large_windows_as_running_blocks) {
  constexpr auto cut = define<"cut">(i) =
      get<1>(fold(affine, s.in(maximum(i - 99_c, 0_c), i + 1_c), tuple(x(s), y(s)))) + 0_c * x(i);
  constexpr auto state = moments_of(s.in(maximum(i - 40_c, 0_c), minimum(i + 41_c, extent(x, dim<0>))), x(s));
  constexpr auto around = define<"around">(i) = get<2>(state) / get<0>(state) + 0_c * x(i);
  for (const std::int64_t size : {81, 100, 101, 1000}) {
    trial test = trial_of(cut, around);
    test.random("x", {size}).random("y", {size}).expect_right();
    if (size < 1000) continue;
    EXPECT_NE(test.plan_text().find("running blocks of its size"), std::string::npos) << test.plan_text();
  }
}
// A value that is an extremum of itself alone is scanned in lanes, as that; the other with the whole state.
TEST(tuple_folds, an_extremum_in_a_large_window_runs_alone) {
  constexpr auto lowest = constant<-std::numeric_limits<float>::infinity()>;
  constexpr auto tops = own_monoid<"tops">(tuple(lowest, 0_c), [](auto a, auto b) {
    auto [top, sum] = a;
    auto [other, more] = b;
    const auto both = maximum(top, other);
    return tuple(both, select(top == both, sum, 0_c) + select(other == both, more, 0_c));
  });
  constexpr auto state = fold(tops, s.in(maximum(i - 99_c, 0_c), i + 1_c), tuple(x(s), y(s)));
  trial test = trial_of(define<"top">(i) = get<0>(state) + 0_c * x(i), define<"sum">(i) = get<1>(state) + 0_c * x(i));
  test.random("x", {1000}).random("y", {1000}).expect_right();
  EXPECT_NE(test.plan_text().find("running blocks of its size"), std::string::npos) << test.plan_text();
  EXPECT_GE(count_of(ir_of(test), "scan_lanes"), 2) << ir_of(test);
}
// One value in order, along and against the index: no lane reorders it.
TEST(tuple_folds, one_value_in_order) {
  constexpr auto later = own_monoid<"later">(0_c, [](auto a, auto b) { return select(b == 0_c, a, b); }).in_order();
  constexpr auto last = define<"last">(i) = fold(later, j, m(i, j));
  constexpr auto up = define<"up">(i) = fold(later, s.in(0_c, i + 1_c), x(s)) + 0_c * x(i);
  constexpr auto down = define<"down">(i) = fold(later, s.in(i, extent(x, dim<0>)), x(s)) + 0_c * x(i);
  constexpr auto window = define<"window">(i) = fold(later, s.in(maximum(i - 70_c, 0_c), i + 1_c), x(s)) + 0_c * x(i);
  trial test = trial_of(last, up, down, window);
  std::vector<double> some(3000, 0);
  for (std::size_t k = 0; k < some.size(); k += 7) some[k] = static_cast<double>(k + 1);
  test.random("m", {20, 77}).with("x", {3000}, some).expect_right();
}
TEST(tuple_folds, long_running_ones_in_blocks) {
  constexpr auto up = define<"up">(i) = get<1>(fold(affine, s.in(0_c, i + 1_c), tuple(x(s), y(s)))) + 0_c * x(i);
  trial test = trial_of(up);
  test.random("x", {200001}).random("y", {200001});
  EXPECT_NE(test.plan_text().find("tasks can share the scan"), std::string::npos) << test.plan_text();
  ASSERT_EQ(test.run(), 0);
  double h = 0;
  for (std::int64_t k = 0; k < 200001; ++k) {
    h = test.inputs[test.slot("x")].real(k) * h + test.inputs[test.slot("y")].real(k);
    ASSERT_NEAR(test.outputs[0].real(k), h, 1e-5) << k;
  }
}

}  // namespace
}  // namespace sheaf::test::tuple_folds_tests
