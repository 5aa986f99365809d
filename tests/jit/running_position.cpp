// Positions of running extrema, and gradients that go to one place: the first of equals or the last, prefixes and
// suffixes with and without their own place, cut and conditional ones, at any size, of any data. Each is two scans,
// whatever the length of the axis.
#include <sheaf/sheaf.hpp>

#include "tie_data.hpp"

namespace sheaf::test::running_position_tests {
namespace {

constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto k = axis<"k">;
constexpr std::int64_t sizes[] = {0, 1, 2, 3, 17, 100};

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }
void expect_scans(trial& test) {
  const std::string plan = test.plan_text();
  EXPECT_TRUE(has(plan, "stage position")) << plan;
  EXPECT_TRUE(has(plan, ", scan\n")) << plan;
  EXPECT_FALSE(has(ir::print(test.p->code), "_block.")) << "a position is looked for";
}

// Of each size and kind of data.
template <class... Outputs>
void expect_right(const char* what, std::int64_t rows, Outputs...) {
  for (const std::int64_t size : sizes)
    for (const data kind : kinds) {
      const std::int64_t n = rows == 0 ? size : std::min<std::int64_t>(size, 40);
      SCOPED_TRACE(what + (" of " + std::to_string(n)) + ", data " + std::to_string(static_cast<int>(kind)));
      trial test = trial_of(Outputs{}...);
      std::vector<std::int64_t> shape{rows, n};
      if (rows == 0) shape = {n};
      const std::int64_t all = n * std::max<std::int64_t>(rows, 1);
      std::vector<double> weights(static_cast<std::size_t>(all), 1.0);
      for (std::size_t p = 0; p < weights.size(); ++p) weights[p] = static_cast<double>(p % 7) - 2;
      test.with("x", shape, drawn(all, kind));
      for (int input = 1; input < test.g.inputs.size(); ++input) {
        const text_range name = test.g.names[test.g.inputs[input].name];
        test.with(std::string(test.g.text.data() + name.first, static_cast<std::size_t>(name.size)).c_str(), shape,
                  weights);
      }
      test.expect_right();
      expect_scans(test);
    }
}

// Of one row: prefixes and suffixes, of both ends of equals.
template <class T>
struct of_a_row {
  static constexpr auto x = tensor<"x", T, 1>;
  static constexpr auto g = tensor<"g", T, 1>;
  static constexpr auto size = extent(x, dim<0>);
  static constexpr auto here = j.in(0_c, size);
  static constexpr auto at(auto position) { return define<"at">(here) = position; }
  static constexpr auto slope(auto extremum) {
    constexpr auto m = define<"m">(here) = decltype(extremum){};
    constexpr auto loss = define<"loss">() = sum(here, m(j) * g(j));
    return grad(loss, x);
  }
  static void positions() {
    expect_right("first", 0, at(argmax(k.in(0_c, j + 1_c), x(k))));
    expect_right("last", 0, at(argmax<ties::last>(k.in(0_c, j + 1_c), x(k))));
    expect_right("first of suffixes", 0, at(argmin(k.in(j, size), x(k))));
    expect_right("last of suffixes", 0, at(argmin<ties::last>(k.in(j, size), x(k))));
    expect_right("of those before", 0, at(argmin(k.in(0_c, j), x(k))));
    expect_right("of those after, the last", 0, at(argmax<ties::last>(k.in(j + 1_c, size), x(k))));
  }
  static void gradients() {
    expect_right("first", 0, slope(max<ties::first>(k.in(0_c, j + 1_c), x(k))));
    expect_right("last", 0, slope(max<ties::last>(k.in(0_c, j + 1_c), x(k))));
    expect_right("first of suffixes", 0, slope(min<ties::first>(k.in(j, size), x(k))));
    expect_right("last of suffixes", 0, slope(min<ties::last>(k.in(j, size), x(k))));
    expect_right("of those before", 0, slope(max<ties::last>(k.in(0_c, j), x(k))));
    expect_right("of those after", 0, slope(max<ties::first>(k.in(j + 1_c, size), x(k))));
  }
};

TEST(running_position, in_f64) {
  of_a_row<double>::positions();
  of_a_row<double>::gradients();
}
TEST(running_position, in_f32) {
  of_a_row<float>::positions();
  of_a_row<float>::gradients();
}
TEST(running_position, in_halves) { of_a_row<bfloat16>::positions(); }
TEST(running_position, of_integers) {
  of_a_row<std::int64_t>::positions();
  of_a_row<std::uint8_t>::positions();
}

constexpr auto x = tensor<"x", float, 2>;
constexpr auto g = tensor<"g", float, 2>;
constexpr auto size = extent(x, dim<1>);
constexpr auto along = j.in(0_c, size);

template <class Extremum>
constexpr auto slope_of(Extremum) {
  constexpr auto m = define<"m">(i, along) = Extremum{};
  constexpr auto loss = define<"loss">() = sum(over(i, along), m(i, j) * g(i, j));
  return grad(loss, x);
}

TEST(running_position, in_each_row) {
  expect_right("first", 5, slope_of(max<ties::first>(k.in(0_c, j + 1_c), x(i, k))));
  expect_right("last", 33, slope_of(min<ties::last>(k.in(0_c, j + 1_c), x(i, k))));
  expect_right("suffixes", 5, slope_of(max<ties::first>(k.in(j, size), x(i, k))));
  constexpr auto m = define<"m">(i, along) = max<ties::last>(k.in(0_c, j + 1_c), x(i, k));
  constexpr auto loss = define<"loss">() = sum(over(i, along), m(i, j) * g(i, j));
  expect_right("with the value", 5, m, loss, grad(loss, x));
  constexpr auto most = define<"most">(i, along) = max(k.in(0_c, j + 1_c), x(i, k));
  trial test = trial_of(most, grad(loss, x));
  test.random("x", {5, 300}).random("g", {5, 300});
  EXPECT_EQ(count_of(test.plan_text(), ", scan\n"), 2) << "the value is one of them\n" << test.plan_text();
}

TEST(running_position, down_each_column) {
  constexpr auto down = i.in(0_c, extent(x, dim<0>));
  constexpr auto m = define<"m">(down, j) = max<ties::first>(k.in(0_c, i + 1_c), x(k, j));
  constexpr auto loss = define<"loss">() = sum(over(down, j), m(i, j) * g(i, j));
  for (const std::int64_t rows : {1, 2, 17}) expect_right("columns", rows, grad(loss, x));
}

// An element that is no load is stored: two kernels would compare other bits of it.
TEST(running_position, of_other_elements) {
  expect_right("squares", 5, slope_of(max<ties::last>(k.in(0_c, j + 1_c), x(i, k) * x(i, k) + g(i, k))));
  constexpr auto part = axis<"part">;
  constexpr auto sums = sum(part.in(0_c, 3_c), x(i, k) * cast<float>(part));
  expect_right("sums", 5, slope_of(max<ties::last>(k.in(0_c, j + 1_c), sums)));
  expect_right("signs", 5, define<"at">(i, along) = argmax(k.in(0_c, j + 1_c), x(i, k) > 1_c));
}

TEST(running_position, of_places_with_a_condition) {
  constexpr auto odd = k % 2_c == 1_c;
  constexpr auto positive = g(i, k) > 0_c;
  expect_right("odd places", 5, slope_of(max<ties::first>(k.in(0_c, j + 1_c).where(odd), x(i, k))));
  expect_right("by data", 5, slope_of(max<ties::first>(k.in(0_c, j + 1_c).where(positive), x(i, k))));
  expect_right("by data, last", 5, slope_of(max<ties::last>(k.in(0_c, j + 1_c).where(positive), x(i, k))));
  expect_right("suffixes, last", 5, slope_of(min<ties::last>(k.in(j, size).where(positive), x(i, k))));
  expect_right("position", 5, define<"at">(i, along) = argmin(k.in(j, size).where(positive), x(i, k)));
}

TEST(running_position, of_ranges_that_are_cut) {
  constexpr auto cut = k.in(0_c, minimum(j + 3_c, size));
  constexpr auto begun = k.in(maximum(j - 2_c, 0_c), size);
  constexpr auto steps = k.in(0_c, minimum(2_c * j + 1_c, size));
  expect_right("cut", 5, define<"at">(i, along) = argmax(cut, x(i, k)));
  expect_right("begun", 5, define<"at">(i, along) = argmax<ties::last>(begun, x(i, k)));
  expect_right("steps", 5, define<"at">(i, along) = argmin<ties::last>(steps, x(i, k)));
  expect_right("gradient", 5, slope_of(max<ties::first>(cut, x(i, k))));
}

// One kernel for axes of many lengths.
TEST(running_position, in_a_class_of_extents) {
  constexpr auto u = tensor<"u", double, 1>;
  constexpr auto m = define<"m">(j.in(0_c, extent(u, dim<0>))) = max<ties::last>(k.in(0_c, j + 1_c), u(k));
  constexpr auto loss = define<"loss">() = sum(j.in(0_c, extent(u, dim<0>)), m(j));
  const auto step = compile(options{.shapes = shape_policy::classes}, grad(loss, u));
  for (const std::int64_t n : {100, 17, 3, 2, 1, 0, 260, 1000, 9}) {
    const std::vector<double> values = drawn(n, data::many_ties);
    array<double, 1> given(n);
    std::vector<double> expected(values.size(), 0.0);
    for (std::size_t p = 0, best = 0; p < values.size(); ++p) {
      given.data()[p] = values[p];
      if (values[p] >= values[best]) best = p;
      expected[best] += 1;
    }
    const auto found = step(u = given);
    for (std::size_t p = 0; p < expected.size(); ++p) ASSERT_EQ(found.data()[p], expected[p]) << p << " of " << n;
  }
  EXPECT_LE(step.statistics().kernels, 6);
}

// A long axis is shared in blocks, and takes one pass.
TEST(running_position, of_a_long_axis) {
  using row = of_a_row<float>;
  const std::int64_t n = 200003;
  trial test = trial_of(row::at(argmax<ties::last>(k.in(0_c, j + 1_c), row::x(k))),
                        row::slope(min<ties::first>(k.in(j, row::size), row::x(k))));
  test.with("x", {n}, drawn(n, data::many_ties)).random("g", {n});
  ASSERT_EQ(test.run(), 0);
  std::int64_t best = 0;
  for (std::int64_t p = 0; p < n; ++p) {
    if (test.inputs[test.slot("x")].real(p) >= test.inputs[test.slot("x")].real(best)) best = p;
    ASSERT_EQ(test.outputs[0].get<std::int64_t>(p), best);
  }
  EXPECT_TRUE(has(test.plan_text(), "blocks of")) << test.plan_text();
}

}  // namespace
}  // namespace sheaf::test::running_position_tests
