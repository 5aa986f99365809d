// Lanes in runs: halves and bytes that threads load and store several at a time; from addresses that 16 bytes do not
// divide, and with rows that end within a run.
#include <gtest/gtest.h>

#include <coverage/by_name.hpp>

#include "machine.hpp"

namespace sheaf::test::runs_tests {
namespace {

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


// Operations on bits, order, division and casts of each width; and functions that the host's library has.
template <class T>
void check_integers(const char* what) {
  constexpr auto n = tensor<"n", T, 2>;
  const table data = {{"n", small(element_of<T>, {5, 37}, std::is_signed_v<T> ? -60 : 0, 120)}};
  const auto check_one = [&](auto y) { check_backends(value_of(what, y), data); };
  check_one(define<"bits">(i, j) = ((n(i, j) & 12_c) | ~n(i, j)) ^ 5_c);
  check_one(define<"shifts">(i, j) = (n(i, j) << 3_c) + (n(i, j) >> (n(i, j) % 9_c - 1_c)));
  check_one(define<"order">(i, j) = maximum(n(i, j), 7_c) / 3_c + n(i, j) % 5_c + abs(n(i, j)) * sign(n(i, j)));
  check_one(define<"real">(i, j) = cast<T>(cast<float>(n(i, j)) * 1000000_c));
  check_one(define<"top">(i) = max(j, n(i, j)));
  check_one(define<"place">(i) = argmin(j, n(i, j)));
}
TEST(runs, integers_of_each_width) {
  check_integers<std::int8_t>("i8");
  check_integers<std::uint8_t>("u8");
  check_integers<std::int16_t>("i16");
  check_integers<std::uint16_t>("u16");
  check_integers<std::int32_t>("i32");
  check_integers<std::uint32_t>("u32");
  check_integers<std::int64_t>("i64");
  check_integers<std::uint64_t>("u64");
}
TEST(runs, functions_and_their_compositions) {
  check("inverse", define<"inverse">(i, j) = asin(x(i, j) / 5_c) + acos(x(i, j) / 5_c) + atan(x(i, j)));
  check("hyperbolic", define<"hyperbolic">(i, j) = asinh(x(i, j)) + sinh(x(i, j)) / cosh(x(i, j)) +
                                                   acosh(4_c + x(i, j)) + atanh(x(i, j) / 5_c) + tan(x(i, j) / 3_c));
  check("composites", define<"composites">(i, j) = gelu(x(i, j)) + silu(x(i, j)) + softplus(x(i, j)) +
                                                   clamp(x(i, j), -1_c, 2_c) + relu(x(i, j)) + trunc(x(i, j) / 2_c));
}

}  // namespace
}  // namespace sheaf::test::runs_tests
