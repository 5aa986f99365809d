// Vector loops in parts: accesses that leave their tensors at the edges, at sizes around whole vectors, at any shift.
#include "plan_harness.hpp"

namespace sheaf::test::partition_loops_tests {
namespace {

constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto a = axis<"a">;
constexpr auto b = axis<"b">;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto v = tensor<"v", float, 1>;
constexpr auto w = tensor<"w", float, 1>;
constexpr auto weights = tensor<"weights", float, 2>;
constexpr auto half = tensor<"half", bfloat16, 1>;

// How many vector loops the program has.
template <class... Y>
std::int64_t loops_of(std::initializer_list<std::pair<const char*, std::vector<std::int64_t>>> inputs, Y...) {
  trial test(detail::build_graph<Y...>());
  for (const auto& [name, extents] : inputs) test.random(name, extents);
  test.expect_right();
  const std::string code = ir::print(test.p->code);
  std::int64_t count = 0;
  for (std::size_t at = code.find("vector "); at != std::string::npos; at = code.find("vector ", at + 1)) ++count;
  return count;
}

// Whole vectors, and more and less than they are; each count of columns with one count of rows.
#define SHEAF_NEIGHBOURS(rule, ...)                                                      \
  constexpr auto near = define<"near">(i, j) =                                           \
      x.rule(i, j + 1_c) - 2_c * x.rule(i, j - 3_c) + x.rule(i - 1_c, j) * x(i, j);      \
  constexpr auto energy = define<"energy">() = sum(over(i, j), near(i, j) * near(i, j)); \
  const auto of = [&](std::int64_t rows, std::int64_t columns) {                         \
    loops_of({{"x", {rows, columns}}}, near);                                            \
    loops_of({{"x", {rows, columns}}}, energy);                                          \
    return loops_of({{"x", {rows, columns}}}, energy, grad(energy, x));                  \
  };                                                                                     \
  std::int64_t whole = 0, parts = 0;                                                     \
  const std::int64_t list[] = {__VA_ARGS__};                                             \
  std::size_t next = 0;                                                                  \
  for (const std::int64_t columns : {1, 4, 63, 256, 257, 300, 320, 1000}) {              \
    const std::int64_t rows = list[next++ % std::size(list)];                            \
    SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(columns));                \
    (columns < 16 ? whole : parts) = of(rows, columns);                                  \
  }                                                                                      \
  EXPECT_GE(parts, whole + 2);

// clang-format off
TEST(partition_loops, padded) { SHEAF_NEIGHBOURS(padded(0_c), 1, 2, 5) }
TEST(partition_loops, clamped) { SHEAF_NEIGHBOURS(clamped, 1, 2, 5) }
TEST(partition_loops, wrapped) { SHEAF_NEIGHBOURS(wrapped, 1, 2) }
TEST(partition_loops, wrapped_rows) { SHEAF_NEIGHBOURS(wrapped, 5) }
TEST(partition_loops, reflected) { SHEAF_NEIGHBOURS(reflected, 1, 2) }
TEST(partition_loops, reflected_rows) { SHEAF_NEIGHBOURS(reflected, 5) }
// clang-format on

// Two tensors in a row: the middle of the range says how one is read, and the middle of what is left how the other is.
TEST(partition_loops, of_two_tensors) {
  constexpr auto both = define<"both">(i.in(0_c, extent(v, dim<0>) + extent(w, dim<0>))) =
      select(i < extent(v, dim<0>), v(i), w(i - extent(v, dim<0>)));
  constexpr auto total = define<"total">() = sum(i.in(0_c, extent(v, dim<0>) + extent(w, dim<0>)), both(i));
  for (const std::int64_t first : {0, 1, 70, 1000, 5000})
    for (const std::int64_t second : {0, 3, 640, 2999}) {
      SCOPED_TRACE(std::to_string(first) + " and " + std::to_string(second));
      loops_of({{"v", {first}}, {"w", {second}}}, both);
      loops_of({{"v", {first}}, {"w", {second}}}, total);
    }
}

// Windows of two dimensions: the rows of a window are a loop within the lanes.
#define SHEAF_WINDOWS(rule)                                                                        \
  constexpr auto rows = define<"rows">(i.in(0_c, extent(x, dim<0>)), j.in(0_c, extent(x, dim<1>))) = \
      sum(over(a.in(0_c, 3_c), b.in(0_c, 3_c)), weights(a, b) * x.rule(i + a - 1_c, j + b - 1_c));   \
  const auto of = [&](std::int64_t columns) {                                                      \
    return loops_of({{"x", {6, columns}}, {"weights", {3, 3}}}, rows);                             \
  };                                                                                               \
  for (const std::int64_t columns : {1, 2, 33, 100, 257}) of(columns);                             \
  EXPECT_EQ(of(1000), 3);

TEST(partition_loops, rows_of_clamped_windows) { SHEAF_WINDOWS(clamped) }
TEST(partition_loops, rows_of_wrapped_windows) { SHEAF_WINDOWS(wrapped) }
TEST(partition_loops, rows_of_reflected_windows) { SHEAF_WINDOWS(reflected) }

// A fold of one clamped access, and no other comparison.
TEST(partition_loops, one_access) {
  constexpr auto taps = define<"taps">(a.in(0_c, 5_c)) = sum(over(i, j), x(i, j) * x.clamped(i, j + a - 2_c));
  for (const std::int64_t columns : {1, 100, 1000}) loops_of({{"x", {40, columns}}}, taps);
  EXPECT_GE(loops_of({{"x", {40, 1000}}}, taps), 3);
}

TEST(partition_loops, shifted_far) {
  constexpr auto turned = define<"turned">(i.in(0_c, extent(v, dim<0>))) =
      v.wrapped(i - 1234_c) + v.reflected(2_c * i - 700_c);
  constexpr auto narrow = define<"narrow">(i.in(0_c, extent(half, dim<0>))) =
      cast<float>(half.clamped(i + 900_c)) * cast<float>(half.padded(1_c)(i - 5_c));
  for (const std::int64_t size : {1, 2, 255, 1024, 1999, 4000}) {
    SCOPED_TRACE(size);
    loops_of({{"v", {size}}}, turned);
    loops_of({{"half", {size}}}, narrow);
  }
}

}  // namespace
}  // namespace sheaf::test::partition_loops_tests
