// Sizes at which a plan for a GPU splits axes, shares lanes among tiles and gives a tile a whole block.
#include <gtest/gtest.h>

#include <coverage/by_name.hpp>

namespace sheaf::test::large_tests {
namespace {

constexpr auto x = tensor<"x", float, 2>;
constexpr auto v3 = tensor<"v3", float, 3>;
constexpr auto target = tensor<"target", std::int64_t, 1>;

table rows(std::int64_t n, std::int64_t m) { return {{"x", floats(1, {n, m}, -1, 1)}}; }

TEST(large, sum_of_all) { check_backends(first_order("sum", sum(x), x), rows(150, 201)); }
TEST(large, mean_of_columns) { check_backends(first_order("mean", mean(x, dim<0>), x), rows(3000, 40)); }
TEST(large, few_long_rows) { check_backends(first_order("softmax", softmax(x, dim<1>), x), rows(3, 5000)); }
TEST(large, many_short_rows) { check_backends(first_order("softmax", softmax(x, dim<1>), x), rows(3000, 5)); }
TEST(large, running_sums) { check_backends(first_order("cumsum", cumsum(x, dim<0>), x), rows(8200, 2)); }
TEST(large, running_results_of_rows) {
  for (const std::int64_t columns : {255, 700}) {
    check_backends(first_order("cumsum", cumsum(x, dim<1>), x), rows(3, columns));
    check_backends(value_of("cummax", cummax(x, dim<1>)), rows(40, columns));
  }
}
// Of 129 elements in vectors of 128, of more in such of 256, with a block of each size beside the vector's; of 8400 the
// sums are f32, and the folds of a block lie in device memory.
template <std::int64_t N>
void check_window() {
  constexpr auto t = axis<"t">;
  constexpr auto u = axis<"u">;
  constexpr auto i = axis<"i">;
  const auto moved = [=](auto reduced) {
    return define<"moved">(i, t.in(0_c, extent(x, dim<1>) - constant<N - 1>)) = reduced;
  };
  const auto data = rows(2, N > 2000 ? N + 700 : 3 * N + 1111);
  constexpr auto at = u.in(0_c, constant<N>);
  check_backends(first_order("mean", moved(mean(at, x(i, t + u))), x), data);
  check_backends(value_of("max", moved(max(at, x(i, t + u)))), data);
}
TEST(large, windows_along_memory) {
  check_window<3>(), check_window<40>(), check_window<128>(), check_window<129>(), check_window<130>();
  check_window<264>(), check_window<300>(), check_window<1024>(), check_window<1300>(), check_window<8400>();
}
TEST(large, counts_of_few_rows) {
  constexpr auto n = tensor<"n", std::int64_t, 1>;
  constexpr auto keep = tensor<"keep", bool, 1>;
  constexpr auto i = axis<"i">;
  constexpr auto k = axis<"k">;
  std::vector<double> ids, flags;
  for (int p = 0; p < 70001; ++p) ids.push_back(p * 7919 % 19 - 1), flags.push_back(p % 3 == 0);
  const table data = {{"n", integers({70001}, ids)}, {"keep", values{element::boolean, {70001}, flags}},
                      {"x", floats(1, {400, 211}, -1, 1)}};
  check_backends(value_of("histogram", histogram<50>(x, -1_c, 1_c)), data);
  check_backends(value_of("kept", define<"kept">(k.in(0_c, 9_c)) =
                                      sum(i.where(keep(i) && n(i) == k), cast<std::int64_t>(i))), data);
}
// The letter of the name has plans be those for much data, see machine.cpp: parts are joined in two steps.
TEST(large, many_parts_of_few_columns) {
  constexpr auto i = axis<"i">;
  constexpr auto j = axis<"j">;
  check_backends(value_of("c", define<"c">(j) = sum(i, x(i, j))), rows(33001, 33));
  check_backends(value_of("c", define<"c">(j) = max(i, x(i, j))), rows(33001, 33));
}
TEST(large, counts_by_narrow_integers) {
  constexpr auto m = tensor<"m", std::int32_t, 1>;
  constexpr auto i = axis<"i">;
  constexpr auto k = axis<"k">;
  std::vector<double> ids;
  for (int p = 0; p < 70001; ++p) ids.push_back(p % 501 == 0 ? 2147483647 : p % 503 == 0 ? -2147483648.0 : p % 23 - 7);
  const table data = {{"m", values{element::i32, {70001}, ids}}};
  constexpr auto row = cast<std::int64_t>(m(i));
  check_backends(value_of("c", define<"c">(k.in(0_c, 12_c)) = sum(i.where(row == k - 3_c), 1_c)), data);
}
TEST(large, variance) { check_backends(value_of("var", var(x)), rows(200, 300)); }
TEST(large, logsumexp_of_all) { check_backends(first_order("logsumexp", logsumexp(x), x), rows(100, 333)); }
TEST(large, elementwise) {
  check_backends(first_order("tanh", elementwise([](auto e) { return tanh(e); }, x), x), rows(70, 2000));
}
TEST(large, batches_of_rows) {
  check_backends(first_order("mean", mean(v3, dim<2>), v3), {{"v3", floats(1, {40, 50, 33}, -1, 1)}});
}
// Folds over several indices for few results: blocks of one of these, which is not the one along memory.
TEST(large, statistics_of_channels) {
  constexpr auto v4 = tensor<"v4", float, 4>;
  constexpr auto n = axis<"n">;
  constexpr auto c = axis<"c">;
  constexpr auto h = axis<"h">;
  constexpr auto w = axis<"w">;
  constexpr auto m = define<"m">(c) = mean(over(n, h, w), v4(n, c, h, w));
  constexpr auto spread = define<"spread">(c) =
      mean(over(n, h, w), (v4(n, c, h, w) - m(c)) * (v4(n, c, h, w) - m(c)));
  constexpr auto y = define<"y">(n, c, h, w) = (v4(n, c, h, w) - m(c)) * rsqrt(spread(c) + 1e-5_c);
  check_backends(first_order("y", y, v4), {{"v4", floats(1, {16, 6, 20, 28}, -1, 1)}});
}
TEST(large, weights_of_a_convolution) {
  constexpr auto weight = tensor<"weight", float, 3>;
  constexpr auto n = axis<"n">;
  constexpr auto c = axis<"c">;
  constexpr auto o = axis<"o">;
  constexpr auto s = axis<"s">;
  constexpr auto p = axis<"p">;
  constexpr auto y = define<"y">(n, o, p.in(0_c, extent(v3, dim<2>) - 4_c)) =
      sum(over(c, s), weight(o, c, s) * v3(n, c, p + s));
  check_backends(first_order("y", y, weight),
                 {{"v3", floats(1, {70, 7, 204}, -1, 1)}, {"weight", floats(2, {9, 7, 5}, -1, 1)}});
}
TEST(large, positions) { check_backends(value_of("argmax", argmax(x, dim<1>)), rows(5, 4000)); }
TEST(large, positions_in_columns) {
  for (const std::int64_t columns : {33, 300}) {
    check_backends(value_of("argmax", argmax(x, dim<0>)), rows(150, columns));
    check_backends(value_of("argmin", argmin(x, dim<0>)), rows(150, columns));
  }
}
TEST(large, across_lanes) {
  constexpr auto i = axis<"i">;
  constexpr auto j = axis<"j">;
  constexpr auto k = axis<"k">;
  for (const std::int64_t columns : {7, 41, 300}) {
    check_backends(value_of("turned", define<"turned">(j, i) = x(i, j)), rows(150, columns));
    check_backends(value_of("apart", define<"apart">(j, i) = x(i, j) * x(i, 0_c)), rows(33, columns));
  }
  check_backends(value_of("moved", define<"moved">(i, k, j) = v3(i, j, k)), {{"v3", floats(1, {4, 50, 33}, -1, 1)}});
}
TEST(large, blocks_of_rows_by_columns) {
  for (const std::int64_t columns : {7, 300}) {
    check_backends(first_order("mean", mean(x, dim<0>), x), rows(150, columns));
    check_backends(first_order("logsumexp", logsumexp(x, dim<0>), x), rows(150, columns));
    check_backends(value_of("var", var(x, dim<0>)), rows(150, columns));
    check_backends(first_order("max", max(x, dim<0>), x), rows(150, columns));
  }
}
TEST(large, losses) {
  table data = rows(500, 30);
  std::vector<double> classes;
  for (int k = 0; k < 500; ++k) classes.push_back((k * 7919) % 30);
  data["target"] = integers({500}, classes);
  check_backends(first_order("cross_entropy", cross_entropy(x, target), x), data);
}

}  // namespace
}  // namespace sheaf::test::large_tests
