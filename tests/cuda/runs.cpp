// Lanes in runs: halves and bytes that threads load and store several at a time; from addresses that 16 bytes do not
// divide, and with rows that end within a run.
#include <gtest/gtest.h>

#include <coverage/by_name.hpp>

#include "machine.hpp"

namespace {

using namespace sheaf;
using namespace sheaf::test;

constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto h = tensor<"h", float16, 2>;
constexpr auto b = tensor<"b", bfloat16, 2>;
constexpr auto u = tensor<"u", std::uint8_t, 2>;
constexpr auto keep = tensor<"keep", bool, 2>;
constexpr auto x = tensor<"x", float, 2>;

// Small numbers, sums of which f32 holds exactly, whatever their order.
values small(element type, std::vector<std::int64_t> extents, std::int64_t low, std::int64_t count) {
  std::vector<double> list;
  for (std::int64_t k = 0; k < extents[0] * extents[1]; ++k)
    list.push_back(static_cast<double>(low + k * 7919 % count));
  return {type, std::move(extents), list};
}
table rows(std::int64_t n, std::int64_t m) {
  return {{"h", small(element::f16, {n, m}, -2, 5)},
          {"b", small(element::bf16, {n, m}, -1, 3)},
          {"u", small(element::u8, {n, m}, 0, 7)},
          {"keep", small(element::boolean, {n, m}, 0, 2)},
          {"x", small(element::f32, {n, m}, -3, 7)}};
}

template <class Y>
void check(const char* what, Y y) {
  for (const std::int64_t columns : {1, 7, 8, 255, 256, 257, 2051}) check_backends(value_of(what, y), rows(9, columns));
  check_backends(value_of(what, y), rows(700, 300));
}

TEST(runs, sums_of_rows) {
  check("f16", sum(h, dim<1>));
  check("bf16", sum(b, dim<1>));
  check("u8", sum(u, dim<1>));
}
TEST(runs, sums_of_columns) { check("columns", sum(h, dim<0>)); }
TEST(runs, sums_of_all) { check("all", define<"all">() = sum(over(i, j), cast<float>(h(i, j)))); }
TEST(runs, beside_wider_ones) {
  check("weighted", define<"weighted">(i) = sum(j, cast<float>(h(i, j)) * x(i, j)));
  check("where", define<"where">(i) = sum(j.where(keep(i, j)), x(i, j)));
  check("both", define<"both">(i, j) = select(keep(i, j), x(i, j), 0_c));
}
TEST(runs, maps) {
  check("twice", define<"twice">(i, j) = h(i, j) + h(i, j));
  check("centred", define<"centred">(i, j) = cast<float>(h(i, j)) - max(j, cast<float>(h(i, j))));
  check("narrow", define<"narrow">(i, j) = cast<float16>(x(i, j)));
}

}  // namespace
