// Tiles of results in shared memory: extents about the ends of tiles and of blocks of the walk, every way in which
// operands may lie, and what a term may be beside a product.
#include <gtest/gtest.h>

#include <coverage/by_name.hpp>
#include <sheaf/dsl/graph/pack.hpp>
#include <sheaf/jit/pipeline.hpp>

namespace sheaf::test::group_tiles_tests {
namespace {

constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto k = axis<"k">;
constexpr auto b = axis<"b">;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto y = tensor<"y", float, 2>;
constexpr auto p = tensor<"p", double, 2>;
constexpr auto q = tensor<"q", double, 2>;
constexpr auto m = tensor<"m", std::int32_t, 2>;
constexpr auto n = tensor<"n", std::int32_t, 2>;
constexpr auto h = tensor<"h", float16, 2>;
constexpr auto f = tensor<"f", float16, 2>;
constexpr auto s = tensor<"s", float, 1>;
constexpr auto v = tensor<"v", float, 1>;
constexpr auto w = tensor<"w", float, 1>;
constexpr auto ids = tensor<"ids", std::int64_t, 1>;
constexpr auto x3 = tensor<"x3", float, 3>;
constexpr auto y3 = tensor<"y3", float, 3>;

template <class Y>
std::string plan_of(Y, const std::vector<std::vector<std::int64_t>>& extents, bool force = true) {
  constexpr auto words = detail::packed<Y>::words;
  plan::call_facts call;
  for (const auto& e : extents) call.inputs.push_back({plan::amounts(e), true});
  call.gpu = true;
  call.force_for_tests = force;
  return plan_program(unpack(words.words), call, "program").text;
}
template <class Y>
bool has_tile(Y y, const std::vector<std::vector<std::int64_t>>& extents, bool force = true) {
  return plan_of(y, extents, force).find("in shared memory") != std::string::npos;
}

// The letters of the name decide whether what is for much data is done for any, see machine.cpp.
TEST(group_tiles, products) {
  constexpr auto c = define<"cc">(i, j) = sum(k, x(i, k) * y(k, j));
  constexpr auto d = define<"c">(i, j) = sum(k, x(i, k) * y(k, j));
  EXPECT_TRUE(has_tile(c, {{20, 20}, {20, 20}}));
  for (const auto& [rows, terms, columns] : std::vector<std::array<std::int64_t, 3>>{
           {1, 1, 1}, {64, 16, 64}, {65, 17, 63}, {128, 8, 128}, {130, 25, 129}, {257, 40, 131},
           {33, 0, 70}, {5, 9, 300}}) {
    const table data = {{"x", floats(1, {rows, terms}, -1, 1)}, {"y", floats(2, {terms, columns}, -1, 1)}};
    check_backends(value_of("cc", c), data);
    check_backends(value_of("c", d), data);
  }
}
TEST(group_tiles, transposed_operands) {
  const auto check = [](auto c) {
    check_backends(value_of("c", c), {{"x", floats(1, {67, 133}, -1, 1)}, {"y", floats(2, {67, 133}, -1, 1)}});
  };
  check(define<"c">(i, j) = sum(k, x(i, k) * y(j, k)));
  check(define<"cc">(i, j) = sum(k, x(i, k) * y(j, k)));
  check(define<"c">(i, j) = sum(k, x(k, i) * y(k, j)));
  check(define<"cc">(i, j) = sum(k, x(k, i) * y(k, j)));
  check(define<"ccc">(i, j) = sum(k, x(k, i) * x(k, j)));
}
TEST(group_tiles, gradients_of_products) {
  constexpr auto c = define<"c">(i, j) = sum(k, x(i, k) * y(k, j));
  const table data = {{"x", floats(1, {70, 35}, -1, 1)}, {"y", floats(2, {35, 90}, -1, 1)}};
  for (const char* const name : {"c", "cc"}) {
    check_backends(first_order(name, c, x), data);
    check_backends(first_order(name, c, y), data);
  }
}
TEST(group_tiles, functions_before_inside_and_after) {
  const table data = {{"x", floats(1, {70, 19}, -1, 1)}, {"y", floats(2, {19, 65}, -1, 1)},
                      {"s", floats(3, {70}, 0.5, 1)},    {"v", floats(4, {65}, 0.5, 1)},
                      {"w", floats(5, {19}, 0.5, 1)}};
  const auto check = [&](const char* what, auto c) { check_backends(value_of(what, c), data); };
  check("a", define<"c">(i, j) = s(i) * tanh(sum(k, exp(x(i, k)) * y(k, j)) + v(j)));
  check("b", define<"c">(i, j) = sum(k, w(k) * (x(i, k) - y(k, j)) * (x(i, k) - y(k, j))));
  check("c", define<"c">(i, j) = sum(k, exp(-abs(x(i, k) * s(i) - y(k, j) * v(j)))));
  check("d", define<"c">(i, j) = max(k, x(i, k) + y(k, j)));
  check("e", define<"c">(i, j) = sum(k, select(x(i, k) < y(k, j), x(i, k) * cast<float>(k), w(k))));
  check("f", define<"c">(i, j) = cast<float>(i - j) + min(k, x(i, k) * y(k, j) + cast<float>(i + j)));
}
TEST(group_tiles, other_types) {
  const auto of = [](element type, int seed, std::int64_t rows, std::int64_t columns) {
    values made = floats(seed, {rows, columns}, -4, 4);
    for (double& each : made.numbers) each = static_cast<double>(static_cast<int>(each));
    made.type = type;
    return made;
  };
  check_backends(value_of("c", define<"c">(i, j) = sum(k, p(i, k) * q(k, j))),
                 {{"p", floats(1, {70, 37}, -1, 1)}, {"q", floats(2, {37, 131}, -1, 1)}});
  check_backends(value_of("c", define<"c">(i, j) = sum(k, m(i, k) * n(k, j))),
                 {{"m", of(element::i32, 1, 70, 37)}, {"n", of(element::i32, 2, 37, 131)}});
  check_backends(value_of("c", define<"c">(i, j) = sum(k, h(i, k) * f(k, j))),
                 {{"h", of(element::f16, 1, 70, 37)}, {"f", of(element::f16, 2, 37, 131)}});
}
TEST(group_tiles, gathered_rows) {
  std::vector<double> names;
  for (int r = 0; r < 75; ++r) names.push_back(r * 7919 % 20);
  const table data = {
      {"x", floats(1, {20, 33}, -1, 1)}, {"y", floats(2, {33, 66}, -1, 1)}, {"ids", integers({75}, names)}};
  check_backends(value_of("c", define<"c">(i, j) = sum(k, x(ids(i), k) * y(k, j))), data);
  const table by_term = {
      {"x", floats(1, {20, 75}, -1, 1)}, {"y", floats(2, {33, 66}, -1, 1)}, {"ids", integers({75}, names)}};
  check_backends(value_of("c", define<"c">(i, j) = sum(k, x(i, k) * y(ids(k), j))), by_term);
}
TEST(group_tiles, batches) {
  constexpr auto c = define<"c">(b, i, j) = sum(k, x3(b, i, k) * y3(b, k, j));
  EXPECT_TRUE(has_tile(c, {{3, 20, 20}, {3, 20, 20}}));
  const table data = {{"x3", floats(1, {3, 66, 18}, -1, 1)}, {"y3", floats(2, {3, 18, 70}, -1, 1)}};
  check_backends(value_of("c", c), data);
  check_backends(first_order("c", c, x3), data);
  check_backends(first_order("c", c, y3), data);
}

// Few results, short sums, and operands of both indices have none.
TEST(group_tiles, are_for_results_that_share_much) {
  constexpr auto c = define<"c">(i, j) = sum(k, x(i, k) * y(k, j));
  EXPECT_TRUE(has_tile(c, {{4096, 4096}, {4096, 4096}}, false));
  EXPECT_TRUE(has_tile(c, {{512, 512}, {512, 512}}, false)) << plan_of(c, {{512, 512}, {512, 512}}, false);
  const std::string few = plan_of(c, {{64, 4096}, {4096, 64}}, false);  // in blocks of the sum
  EXPECT_NE(few.find("stage partial"), std::string::npos) << few;
  EXPECT_FALSE(has_tile(c, {{4096, 4}, {4, 4096}}, false));
  EXPECT_FALSE(has_tile(c, {{8, 4096}, {4096, 4096}}, false));
}

}  // namespace
}  // namespace sheaf::test::group_tiles_tests
