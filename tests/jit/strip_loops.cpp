// Vector loops that divide their lanes: by extents and numbers, at sizes around periods and vectors, from any place on.
#include "plan_harness.hpp"

namespace sheaf::test::strip_loops_tests {
namespace {

constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto r = axis<"r">;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto y = tensor<"y", float, 2>;
constexpr auto v = tensor<"v", float, 1>;
constexpr auto w = tensor<"w", float, 1>;
constexpr auto whole = tensor<"whole", double, 1>;
constexpr auto half = tensor<"half", bfloat16, 1>;

using named_extents = std::initializer_list<std::pair<const char*, std::vector<std::int64_t>>>;

// The kernels' loops, of a program that is right.
template <class... Y>
std::string code_of(named_extents inputs, Y...) {
  trial test(detail::build_graph<Y...>());
  for (const auto& [name, extents] : inputs) test.random(name, extents);
  test.expect_right(0);
  return ir::print(test.p->code);
}
template <class... Y>
std::string code_near(named_extents inputs, Y...) {
  trial test(detail::build_graph<Y...>());
  for (const auto& [name, extents] : inputs) test.random(name, extents);
  test.expect_right();
  return ir::print(test.p->code);
}
bool has(const std::string& code, const std::string& part) { return code.find(part) != std::string::npos; }

constexpr auto rows_of_both = extent(x, dim<0>) * extent(y, dim<0>);
constexpr auto columns_of_both = extent(x, dim<1>) * extent(y, dim<1>);

TEST(strip_loops, kronecker_products) {
  constexpr auto both = define<"both">(i.in(0_c, rows_of_both), j.in(0_c, columns_of_both)) =
      x(quotient(i, extent(y, dim<0>)), quotient(j, extent(y, dim<1>))) *
      y(i % extent(y, dim<0>), j % extent(y, dim<1>));
  for (const std::int64_t period : {0, 1, 2, 5, 6, 7, 9, 16, 31, 32, 33, 64, 100, 300})
    for (const std::int64_t columns : {0, 1, 3, 17}) {
      SCOPED_TRACE(std::to_string(columns) + " x " + std::to_string(period));
      const std::string code = code_near({{"x", {3, columns}}, {"y", {2, period}}}, both);
      EXPECT_EQ(has(code, "_quotient"), period >= 6 && period * columns >= 32);
      EXPECT_TRUE(!has(code, "_quotient") || has(code, "load contiguous y"));
    }
}

TEST(strip_loops, tiles) {
  constexpr auto tiled = define<"tiled">(i.in(0_c, 3_c * extent(x, dim<0>)), j.in(0_c, 5_c * extent(x, dim<1>))) =
      x(i % extent(x, dim<0>), j % extent(x, dim<1>));
  constexpr auto turned = define<"turned">(j.in(0_c, 3_c * extent(whole, dim<0>))) =
      whole.wrapped(j - 1000_c) + cast<double>(half.wrapped(j + 7_c));
  for (const std::int64_t columns : {1, 5, 6, 8, 15, 63, 64, 65, 200}) {
    SCOPED_TRACE(columns);
    code_of({{"x", {2, columns}}}, tiled);
    code_of({{"whole", {columns}}, {"half", {columns + 1}}}, turned);
    code_of({{"whole", {columns}}, {"half", {columns}}}, turned);
  }
}

TEST(strip_loops, padding) {
  constexpr auto at_edges = [](auto how) {
    return define<"edges">(i.in(0_c, extent(x, dim<0>) + 2_c), j.in(0_c, extent(x, dim<1>) + 7_c)) = how;
  };
  for (const std::int64_t columns : {1, 2, 3, 8, 27, 30, 64, 121, 122, 130, 300, 1000})
    for (const std::int64_t rows : {1, 4}) {
      SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(columns));
      const named_extents sizes = {{"x", {rows, columns}}};
      const std::string reflected = code_of(sizes, at_edges(x.reflected(i - 1_c, j - 3_c)));
      const std::string wrapped = code_of(sizes, at_edges(x.wrapped(i - 1_c, j - 3_c)));
      code_of(sizes, at_edges(x.clamped(i - 1_c, j - 3_c)));
      code_of(sizes, at_edges(x.padded(2_c)(i - 1_c, j - 3_c)));
      if (columns < 30) continue;
      EXPECT_TRUE(has(reflected, "load contiguous x"));
      EXPECT_TRUE(has(wrapped, "load contiguous x"));
    }
}

TEST(strip_loops, windows_of_a_flat_column) {
  constexpr auto wide = extent(x, dim<1>) - 2_c;
  constexpr auto columns = define<"columns">(r.in(0_c, 9_c), j.in(0_c, (extent(x, dim<0>) - 2_c) * wide)) =
      x(quotient(j, wide) + quotient(r, 3_c), j % wide + r % 3_c);
  for (const std::int64_t width : {3, 7, 8, 9, 34, 66, 130}) {
    SCOPED_TRACE(width);
    const std::string code = code_of({{"x", {13, width}}}, columns);
    EXPECT_TRUE(!(width > 9) || has(code, "load contiguous x"));
  }
}

// Divisors that nothing bounds: what is read beyond is a value, and a divisor may be 0.
TEST(strip_loops, any_divisor) {
  constexpr auto of_any = define<"of_any">(i.in(0_c, 3_c), j.in(0_c, extent(v, dim<0>))) =
      v.padded(9_c)(quotient(j - 50_c, extent(w, dim<0>)) + i) + v.padded(8_c)((j - 50_c) % extent(w, dim<0>) - 2_c) +
      select(quotient(j - 50_c, extent(w, dim<0>)) < 2_c, v(j), v.clamped(j + i));
  constexpr auto backward = define<"backward">(j.in(0_c, extent(v, dim<0>))) =
      v.padded(9_c)(extent(w, dim<0>) - 1_c - j % extent(w, dim<0>));
  for (const std::int64_t divisor : {0, 1, 2, 5, 6, 7, 40, 64, 100, 1000})
    for (const std::int64_t size : {0, 1, 31, 32, 100, 500}) {
      SCOPED_TRACE(std::to_string(size) + " by " + std::to_string(divisor));
      code_near({{"v", {size}}, {"w", {divisor}}}, of_any);
      code_near({{"v", {size}}, {"w", {divisor}}}, backward);
    }
}

template <int By>
void repeats() {
  constexpr literal_<std::int64_t{By}> by;
  constexpr auto each = define<"each">(i.in(0_c, 2_c), j.in(0_c, by * extent(x, dim<1>))) = x(i, quotient(j, by));
  constexpr auto some = define<"some">(j.in(0_c, by * extent(v, dim<0>))) =
      v.padded(3_c)(quotient(j - 11_c, by) + 1_c) * cast<float>(j % by);
  constexpr auto other = define<"other">(j.in(0_c, by * extent(whole, dim<0>))) =
      whole.padded(1_c)(quotient(j + 2_c, by));
  for (const std::int64_t size : {0, 1, 2, 15, 16, 17, 31, 64, 65, 100}) {
    SCOPED_TRACE(std::to_string(By) + " times " + std::to_string(size));
    const std::string code = code_of({{"x", {2, size}}}, each);
    code_near({{"v", {size}}}, some);
    code_of({{"whole", {size}}}, other);
    const bool few = By == 3 || By == 5 || By == 7;
    EXPECT_TRUE(!(few && size * By >= 16 * By * 2) || has(code, "repeat " + std::to_string(By)));
  }
}
TEST(strip_loops, repeated_elements) {
  repeats<2>();
  repeats<3>();
  repeats<5>();
  repeats<6>();
  repeats<7>();
  repeats<9>();
}

// Sums go in the order that they had.
TEST(strip_loops, sums_stay) {
  constexpr auto total = define<"total">() = sum(j.in(0_c, 7_c * extent(v, dim<0>)), v(j % extent(v, dim<0>)));
  for (const std::int64_t size : {1, 64, 100, 1000}) {
    SCOPED_TRACE(size);
    EXPECT_FALSE(has(code_near({{"v", {size}}}, total), "_quotient"));
  }
}

}  // namespace
}  // namespace sheaf::test::strip_loops_tests
