// Accesses that are moved inside a tensor: their gradients are solved for the index instead of scattered, and wrapped
// loads divide nothing, at any size and shift.
#include <cstring>
#include <sstream>

#include <sheaf/jit/ir/print.hpp>

#include "solved_plans.hpp"

namespace sheaf::test::moved_inside_tests {
namespace {

constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto k = axis<"k">;
constexpr auto a = axis<"a">;
constexpr auto b = axis<"b">;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto row = tensor<"row", double, 1>;
constexpr auto half = tensor<"half", bfloat16, 1>;
constexpr auto w = tensor<"w", float, 2>;

#define SHEAF_ENERGY(rule)                                                                            \
  constexpr auto a = define<"a">(i, j) = x(i, j) - x.rule(i + 1_c, j);                                \
  constexpr auto b = define<"b">(i, j) = x(i, j) - x.rule(i, j - 1_c) - w(i, j) * x.rule(i - 2_c, j); \
  constexpr auto e = define<"e">() = sum(over(i, j), a(i, j) * a(i, j) + b(i, j) * b(i, j));          \
  const auto test_of = [](std::int64_t rows, std::int64_t columns) {                                  \
    return right({{"x", {rows, columns}}, {"w", {rows, columns}}}, e, grad(e, x));                    \
  };

template <class TestOf>
void expect_at_all_sizes(const TestOf& test_of) {
  for (const std::int64_t rows : {0, 1, 2, 3, 9})
    for (const std::int64_t columns : {1, 2, 3, 37}) {
      if (rows % 3 == 0 && rows < 9 && (columns == 2 || columns == 3)) continue;
      SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(columns));
      test_of(rows, columns);
    }
}

TEST(moved_inside, clamped) {
  SHEAF_ENERGY(clamped)
  expect_at_all_sizes(test_of);
  expect_solved(test_of(23, 31));
}
TEST(moved_inside, wrapped) {
  SHEAF_ENERGY(wrapped)
  expect_at_all_sizes(test_of);
  expect_solved(test_of(23, 31));
}
TEST(moved_inside, reflected) {
  SHEAF_ENERGY(reflected)
  expect_at_all_sizes(test_of);
  expect_solved(test_of(23, 31));
}

// An index that is solved for has fewer values than the result has rows: for the others what it reads is not read.
TEST(moved_inside, terms_of_an_index_with_fewer_values) {
  constexpr auto table = tensor<"table", double, 2, 6, 4>;
  constexpr auto pick = tensor<"pick", std::int64_t, 1, 4>;
  constexpr auto d = define<"d">(k) = abs(table(pick(k), k) - table(k % 6_c, maximum(k - 2_c, 0_c)));
  constexpr auto loss = define<"loss">() = sum(k, d(k));
  const graph g = detail::build_graph<decltype(grad(loss, table))>();
  plan::call_facts call;
  for (const input_row& in : g.inputs)
    call.inputs.push_back({in.rank == 2 ? std::vector<shapes::amount>{6, 4} : std::vector<shapes::amount>{4}, true});
  std::istringstream lines(ir::print(plan_program(g, call, "t").code));
  int masked = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!has(line, "load uniform pick[")) continue;
    EXPECT_TRUE(has(line, "mask")) << line;
    ++masked;
  }
  EXPECT_EQ(1, masked);
}

// What a term reads where its update goes is the row of the update; what it reads elsewhere stays.
TEST(moved_inside, terms_at_the_place_of_an_update) {
  constexpr auto c = define<"c">() =
      sum(over(i, j), x.clamped(i + 1_c, j) * x.clamped(i + 1_c, j) * x.clamped(i + 2_c, j + 1_c) * w(i, j));
  constexpr auto r = define<"r">() =
      sum(over(i, j), x.wrapped(i, j + 1_c) * x.wrapped(i, j + 1_c) * x.wrapped(i + 2_c, j + 1_c) * w(i, j));
  constexpr auto f = define<"f">() =
      sum(over(i, j), x.reflected(i, j - 1_c) * x.reflected(i, j - 1_c) * x.reflected(i + 1_c, j - 1_c) * w(i, j));
  expect_at_all_sizes([](std::int64_t rows, std::int64_t columns) {
    return right({{"x", {rows, columns}}, {"w", {rows, columns}}}, grad(c, x), grad(r, x), grad(f, x));
  });
}

// Indices that a fold inside of a term has as well: there it reads elsewhere.
TEST(moved_inside, folds_inside_of_terms) {
  constexpr auto n = extent(x, dim<0>);
  constexpr auto least = define<"least">(i.in(0_c, n)) = min(k.in(0_c, n), x.clamped(i, i + k) * x.clamped(i, i + k));
  constexpr auto all = define<"all">(i.in(0_c, n)) =
      sum(j.in(0_c, extent(x, dim<1>)), x.wrapped(i + 1_c, j) * x.wrapped(i + 1_c, j));
  constexpr auto loss =
      define<"loss">() = sum(i, least(i)) + sum(over(i.in(0_c, n), j), all(i) * x.wrapped(i + 1_c, j) * w(i, j));
  expect_at_all_sizes([](std::int64_t rows, std::int64_t columns) {
    return right({{"x", {rows, columns}}, {"w", {rows, columns}}}, grad(loss, x));
  });
}

// Shifts beyond the tensor, both dimensions at once, backwards, with steps, and over windows.
TEST(moved_inside, far) {
  constexpr auto c = define<"c">() = sum(over(i, j), x.clamped(i + 7_c, j - 5_c) * w(i, j));
  constexpr auto r = define<"r">() = sum(over(i, j), x.wrapped(i + 7_c, j - 5_c) * w(i, j));
  constexpr auto f = define<"f">() = sum(over(i, j), x.reflected(i - 7_c, j + 5_c) * w(i, j));
  for (const std::int64_t n : {1, 2, 4, 6, 33})
    right({{"x", {n, n + 1}}, {"w", {n, n + 1}}}, grad(c, x), grad(r, x), grad(f, x));
  // Of another extent than the tensor's.
  for (const std::int64_t n : {1, 4, 33}) right({{"x", {4, 5}}, {"w", {n, 40}}}, grad(c, x), grad(r, x), grad(f, x));
}
TEST(moved_inside, steps_and_windows) {
  constexpr auto back = define<"back">() = sum(i, row(i) * row.clamped(5_c - i) * row.wrapped(3_c - i));
  constexpr auto steps = define<"steps">() = sum(i, row(i) * row.clamped(2_c * i - 3_c) * row.wrapped(2_c * i + 1_c));
  constexpr auto mean = define<"mean">(i.in(0_c, extent(row, dim<0>))) =
       sum(k.in(0_c, 3_c), row.clamped(i + k - 1_c) * row.wrapped(i + k - 1_c));
  constexpr auto windows = define<"windows">() = sum(i, mean(i) * mean(i) * row(i));
  for (const std::int64_t n : {0, 1, 2, 3, 7, 100})
    right({{"row", {n}}}, grad(back, row), grad(steps, row), mean, grad(windows, row));
}

// Windows whose places are an extent: their gradients look for no row, whether a window is longer than a period or not.
constexpr auto image = tensor<"image", double, 2>;
constexpr auto taps = tensor<"taps", double, 2>;
#define SHEAF_FILTER(rule)                                                                              \
  constexpr auto rows = i.in(0_c, extent(image, dim<0>));                                               \
  constexpr auto columns = j.in(0_c, extent(image, dim<1>));                                            \
  constexpr auto y = define<"y">(rows, columns) =                                                       \
      sum(over(a, b), taps(a, b) * image.rule(i + a - 2_c, j - b + 1_c));                               \
  constexpr auto e = define<"e">() = sum(over(rows, columns), y(i, j) * y(i, j));                       \
  const auto test_of = [](std::int64_t height, std::int64_t width, std::int64_t places) {               \
    return right({{"image", {height, width}}, {"taps", {places, 3}}}, e, grad(e, image), grad(e, taps)); \
  };                                                                                                    \
  test_of(1, 3, 1);                                                                                     \
  for (const std::int64_t n : {1, 2, 9}) test_of(n, 1, 12), test_of(n, 40, 3);                          \
  expect_solved(test_of(23, 131, 5));

TEST(moved_inside, clamped_windows) { SHEAF_FILTER(clamped) }
TEST(moved_inside, wrapped_windows) { SHEAF_FILTER(wrapped) }
TEST(moved_inside, reflected_windows) { SHEAF_FILTER(reflected) }

// At an edge few places of a long index have terms: its loop has those alone, whatever the loops around it. Then edges
// take little beside the rest, as wrapped ones do.
template <class Gradient>
double work_of(Gradient) {
  trial t(detail::build_graph<Gradient>());
  t.counts_work = true;
  t.random("x", {64, 512}).random("w", {5, 5}).make();
  std::int64_t work = 0;
  std::memset(t.rest.back().bytes.data(), 0, sizeof work);
  EXPECT_EQ(t.run(), 0);
  std::memcpy(&work, t.rest.back().bytes.data(), sizeof work);
  return static_cast<double>(work);
}
#define SHEAF_SQUARES(name, rule)                                                                             \
  constexpr auto name##_y = define<#name "_y">(i.in(0_c, extent(x, dim<0>)), j.in(0_c, extent(x, dim<1>))) = \
      sum(over(a, b), w(a, b) * x.rule(i + a - 2_c, j + b - 2_c));                                           \
  constexpr auto name = define<#name>() =                                                                    \
      sum(over(i.in(0_c, extent(x, dim<0>)), j.in(0_c, extent(x, dim<1>))), name##_y(i, j) * name##_y(i, j));
TEST(moved_inside, edges_of_windows) {
  SHEAF_SQUARES(clamps, clamped)
  SHEAF_SQUARES(wraps, wrapped)
  EXPECT_LT(work_of(grad(clamps, x)), 1.5 * work_of(grad(wraps, x)))
      << work_of(grad(clamps, x)) << " " << work_of(grad(wraps, x));
}
TEST(moved_inside, small_numbers) {
  constexpr auto loss = define<"loss">() = sum(i, half(i) * half.clamped(i + 1_c) + half.wrapped(i - 1_c) * half(i));
  for (const std::int64_t n : {1, 2, 50}) {
    trial test(detail::build_graph<decltype(grad(loss, half))>());
    test.random("half", {n}).expect_right(0.01);
  }
}

// A key of two dimensions that tables of many places serve: each update has one place, not a row of them.
TEST(moved_inside, no_tables_of_whole_results) {
  constexpr auto at = tensor<"at", std::int64_t, 1>;
  constexpr auto to = tensor<"to", std::int64_t, 1>;
  constexpr auto loss = define<"loss">() = sum(over(i, j), x(at(i), to(j)) * w(i, j));
  trial test(detail::build_graph<decltype(grad(loss, x))>());
  test.random("x", {400, 400}).random("w", {400, 400}).below("at", {400}, 400).below("to", {400}, 400);
  test.make();
  EXPECT_FALSE(has(test.plan_text(), "privatised tables")) << test.plan_text();
}

// A quotient where it has no remainder, as a transposed convolution reads: the gradient is a sum over the windows that
// an element is in.
TEST(moved_inside, quotients_without_remainder) {
  constexpr auto t = axis<"t">;
  constexpr auto n = extent(row, dim<0>);
  constexpr auto by_two = (t - k) % 2_c == 0_c && t - k >= 0_c && (t - k) / 2_c < n;
  constexpr auto by_three = (t - k) % 3_c == 0_c && t - k >= 0_c && (t - k) / 3_c < n;
  constexpr auto v = tensor<"v", double, 1>;
  constexpr auto two = define<"two">(t.in(0_c, (n - 1_c) * 2_c + extent(v, dim<0>))) =
      sum(k.where(by_two), row((t - k) / 2_c) * v(k));
  constexpr auto three = define<"three">(t.in(0_c, n * 3_c)) = sum(k.where(by_three), row((t - k) / 3_c) * v(k));
  constexpr auto loss = define<"loss">() = sum(t, two(t) * two(t)) + sum(t, three(t) * three(t));
  for (const std::int64_t places : {1, 2, 3, 8, 60})
    for (const std::int64_t window : {1, 2, 3, 5}) {
      const std::string plan = right({{"row", {places}}, {"v", {window}}}, loss, grad(loss, row), grad(loss, v));
      if (places == 60) expect_solved(plan);
    }
}

// What bounds an index of the sum is no part of the subscript.
TEST(moved_inside, ranges_with_extrema) {
  constexpr auto c = axis<"c">;
  constexpr auto here = j.in(-1_c, minimum(2_c, k + 2_c));
  constexpr auto y = define<"y">(i.in(0_c, extent(row, dim<0>))) =
      sum(over(k, here.where(i == minimum(j + 1_c, 3_c - j))), row(k));
  constexpr auto sums = define<"sums">(k) = row(k) + sum(c.in(-1_c, minimum(1_c, k)), row.reflected(c));
  constexpr auto loss = define<"loss">() = sum(k, sums(k) * sums(k));
  for (const std::int64_t n : {0, 1, 2, 3, 9, 40}) right({{"row", {n}}}, y, grad(loss, row));
}

// Data says whether there is a term, as the sign of a velocity does, or the index itself, as within the edges.
TEST(moved_inside, terms_under_conditions) {
  constexpr auto n = extent(row, dim<0>);
  constexpr auto wind = tensor<"wind", double, 1>;
  constexpr auto upwind = define<"upwind">(i.in(0_c, n)) =
      select(wind(i) > 0_c, row(i) - row.wrapped(i - 1_c), row.wrapped(i + 1_c) - row(i));
  constexpr auto inner = define<"inner">(i.in(0_c, n)) =
      select(i > 0_c && i < n - 1_c && i % 2_c == 0_c, row.clamped(i - 1_c) + row.clamped(i + 1_c), row(i));
  constexpr auto blown = define<"blown">() = sum(i, upwind(i) * upwind(i) * wind(i));
  constexpr auto smooth = define<"smooth">() = sum(i.in(0_c, n), inner(i) * inner(i));
  for (const std::int64_t size : {1, 2, 3, 9, 40, 400}) {
    const std::string first = right({{"row", {size}}, {"wind", {size}}}, grad(blown, row));
    const std::string second = right({{"row", {size}}}, grad(smooth, row));
    if (size == 400) expect_solved(first), expect_solved(second);
  }
}

// An index that is solved for is in another's range.
TEST(moved_inside, places_that_move_a_range) {
  constexpr auto later = define<"later">(b.in(0_c, extent(x, dim<1>))) =
      sum(over(j.in(0_c, extent(x, dim<1>)), k.in(j + 1_c, extent(x, dim<0>)).where(b == j % extent(x, dim<1>))),
          x(k, b));
  for (const std::int64_t n : {1, 5, 40}) right({{"x", {n, 6}}}, later);
}

}  // namespace
}  // namespace sheaf::test::moved_inside_tests
