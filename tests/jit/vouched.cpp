// Gradients that read, for the rows of slices, what their values were checked to read there: without a mask, and
// nothing where there is no slice.
#include "plan_harness.hpp"

namespace sheaf::test::vouched_tests {
namespace {

constexpr auto m = axis<"m">;
constexpr auto e = axis<"e">;
constexpr auto a = tensor<"a", float, 1>;
constexpr auto w = tensor<"w", float, 1>;
constexpr auto v = tensor<"v", float, 1>;
constexpr auto at = tensor<"at", std::int32_t, 1>;
constexpr auto off = tensor<"off", std::int32_t, 1>;
constexpr auto slice = e.in(off(m), off(m + 1_c));
constexpr auto slices = m.in(0_c, extent(off, dim<0>) - 1_c);

// Slices of 0 to 6 rows and one of 50; what lies around all of them is no place of w.
void fill(trial& one, std::int64_t count) {
  std::vector<double> bounds{3};
  for (std::int64_t k = 0; k < count; ++k)
    bounds.push_back(bounds.back() + (k == count / 2 ? 50 : static_cast<double>(k * k % 7)));
  const auto rows = static_cast<std::int64_t>(bounds.back()) + 5;
  std::vector<double> places;
  for (std::int64_t t = 0; t < rows; ++t)
    places.push_back(t < 3 || t >= rows - 5 ? 1e9 : static_cast<double>(t * 13 % 40));
  one.with("off", {count + 1}, bounds).with("at", {rows}, places).random("a", {rows}).random("w", {40});
}

std::string last_kernel(const trial& one) {
  const std::string code = ir::print(one.p->code);
  return code.substr(code.rfind("\nkernel "));
}

TEST(vouched, gradients_of_sparse_products) {
  constexpr auto y = define<"y">(slices) = sum(slice, a(e) * w(at(e)));
  for (const std::int64_t count : {1, 40, 300}) {
    trial one = trial_of(y, vjp(y, a));
    fill(one, count);
    one.random("cotangent_y", {count}).expect_right(1e-5);
    if (count < 300) continue;
    const std::string code = last_kernel(one);
    EXPECT_NE(code.find("load gather w"), std::string::npos) << code;
    EXPECT_EQ(code.find("mask"), std::string::npos) << code;
  }
}

// Nobody reads these for values: what is no place counts as zero.
TEST(vouched, not_what_no_value_reads) {
  constexpr auto held = m.in(0_c, extent(off, dim<0>) - 1_c).where(off(m) <= e && e < off(m + 1_c));
  constexpr auto y = define<"y">(e.in(0_c, extent(a, dim<0>))) = sum(held, v(m) * w.padded(0_c)(at(e)));
  trial one = trial_of(y);
  fill(one, 300);
  one.random("v", {300}).expect_right(1e-5);
  EXPECT_NE(last_kernel(one).find("mask"), std::string::npos);
}

// The slices of one sum say nothing of the rows of another's.
TEST(vouched, slices_are_those_of_the_check) {
  constexpr auto other = tensor<"other", std::int32_t, 1>;
  constexpr auto y = define<"y">(slices) = sum(slice, a(e) * w(at(e)));
  constexpr auto held = m.in(0_c, extent(other, dim<0>) - 1_c).where(other(m) <= e && e < other(m + 1_c));
  constexpr auto z = define<"z">(e.in(0_c, extent(a, dim<0>))) = sum(held, v(m) * w.padded(0_c)(at(e)));
  trial one = trial_of(y, z);
  fill(one, 300);
  std::vector<double> bounds;
  for (int k = 0; k <= 300; ++k) bounds.push_back(3 * k);
  one.with("other", {301}, bounds).random("v", {300}).expect_right(1e-5);
}

// Of two slices, or two ranges of a row, what is vouched for in one says nothing of the other.
TEST(vouched, ranges_of_another_index) {
  constexpr auto h = axis<"h">;
  constexpr auto low = tensor<"low", std::int32_t, 1>;
  constexpr auto high = tensor<"high", std::int32_t, 1>;
  constexpr auto grid = tensor<"grid", float, 2>;
  constexpr auto blocks = define<"blocks">(m.in(0_c, extent(low, dim<0>))) =
      sum(over(slice, h.in(low(m), high(m))), grid(e, h) * w(at(h)));
  constexpr auto inner = define<"inner">(m.in(0_c, extent(low, dim<0>))) = sum(e.in(low(m), high(m)), a(e) * w(at(e)));
  constexpr auto outer = define<"outer">(m.in(0_c, extent(low, dim<0>))) =
      sum(slice.where(low(m) <= e && e < high(m)), a(e) * w(at(e)));
  constexpr std::int64_t count = 150, rows = 4 * count, columns = 64;
  std::vector<double> bounds, lows, highs, lows_of_rows, highs_of_rows, places, places_of_rows;
  for (int k = 0; k <= count; ++k) bounds.push_back(4 * k);
  for (int k = 0; k < count; ++k) {
    lows.push_back(3 + k % 5), highs.push_back(20 + k % 7);
    lows_of_rows.push_back(4 * k + 1), highs_of_rows.push_back(4 * k + 3);
  }
  for (int k = 0; k < columns; ++k) places.push_back(k < 3 || k > 25 ? 1e9 : k % 40);
  for (int k = 0; k < rows; ++k) places_of_rows.push_back(k % 4 == 1 || k % 4 == 2 ? k % 40 : 1e9);
  trial two = trial_of(vjp(blocks, grid));
  two.with("off", {count + 1}, bounds).with("low", {count}, lows).with("high", {count}, highs);
  two.with("at", {columns}, places).random("grid", {rows, columns}).random("w", {40});
  two.random("cotangent_blocks", {count}).expect_right(1e-5);
  trial both = trial_of(inner, vjp(outer, a));
  both.with("off", {count + 1}, bounds).with("low", {count}, lows_of_rows).with("high", {count}, highs_of_rows);
  both.with("at", {rows}, places_of_rows).random("a", {rows}).random("w", {40});
  both.random("cotangent_outer", {count}).expect_right(1e-5);
}

}  // namespace
}  // namespace sheaf::test::vouched_tests
