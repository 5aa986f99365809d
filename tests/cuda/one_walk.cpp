// A maximum and the powers about it, a mean and the squares about it, as one fold: rows and columns, with infinities
// and NaN among them; and which programs are planned so.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include <coverage/by_name.hpp>
#include <cuda/plan_text.hpp>

namespace sheaf::test::one_walk_tests {
namespace {

constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto d = tensor<"d", double, 2>;
constexpr auto h = tensor<"h", float16, 2>;
constexpr auto keep = tensor<"keep", bool, 2>;
constexpr auto classes = tensor<"classes", std::int64_t, 1>;

constexpr double inf = std::numeric_limits<double>::infinity();

// Every seventh row and column is of -inf alone, others have an infinity or a NaN, or grow along the way.
table data_of(std::int64_t rows, std::int64_t columns) {
  values x = floats(1, {rows, columns}, -30, 30), keep{element::boolean, {rows, columns}, {}};
  const auto at = [&](std::int64_t r, std::int64_t c) -> double& {
    return x.numbers[static_cast<std::size_t>(r * columns + c)];
  };
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < columns; ++c) {
      keep.numbers.push_back((r * 31 + c * 7) % 3 != 0 && r % 5 != 4);
      if (r % 7 == 3 || c % 7 == 5) at(r, c) = -inf;
      if (r % 11 == 2) at(r, c) = static_cast<double>(c) / 8;
    }
  at(rows / 2, columns / 2) = inf;
  if (rows > 4 && columns > 4) at(rows - 1, columns - 2) = std::nan("");
  values d = x, h = x;
  d.type = element::f64;
  h.type = element::f16;
  return {{"x", x}, {"d", d}, {"h", h}, {"keep", keep}};
}

// The last letter of a name decides whether the plan is one for much data.
template <class A, class B>
void check(A a, B b, std::int64_t rows, std::int64_t columns) {
  check_backends(value_of("a", a), data_of(rows, columns));
  check_backends(value_of("b", b), data_of(rows, columns));
}
void check_all(std::int64_t rows, std::int64_t columns) {
  check(define<"a">(i) = logsumexp(j, x(i, j)), define<"b">(i) = logsumexp(j, x(i, j)), rows, columns);
  check(define<"a">(j) = logsumexp(i, x(i, j)), define<"b">(j) = logsumexp(i, x(i, j)), rows, columns);
}

TEST(one_walk, rows_and_columns) {
  check_all(1, 1);
  check_all(3, 9001);
  check_all(40, 300);
  check_all(3000, 41);
}
TEST(one_walk, many_parts_of_few_columns) {
  constexpr auto of_column = mean(i, x(i, j));
  constexpr auto squared = (x(i, j) - of_column) * (x(i, j) - of_column);
  const table data = {{"x", floats(1, {33001, 33}, 2, 3)}};
  check_backends(value_of("a", define<"a">(j) = logsumexp(i, x(i, j))), data);
  check_backends(value_of("a", define<"a">(j) = sum(i, squared)), data);
}
TEST(one_walk, types) {
  check(define<"a">(i) = logsumexp(j, d(i, j)), define<"b">(i) = logsumexp(j, d(i, j)), 9, 500);
  check(define<"a">(j) = logsumexp(i, d(i, j)), define<"b">(j) = logsumexp(i, d(i, j)), 500, 9);
  check(define<"a">(i) = logsumexp(j, h(i, j)), define<"b">(i) = logsumexp(j, h(i, j)), 9, 500);
}
TEST(one_walk, some_of_a_row) {
  const auto kept = j.where(keep(i, j));
  check(define<"a">(i) = logsumexp(kept, x(i, j)), define<"b">(i) = logsumexp(kept, x(i, j)), 40, 700);
}
TEST(one_walk, of_all) {
  check(define<"a">() = logsumexp(over(i, j), x(i, j)), define<"b">() = logsumexp(over(i, j), x(i, j)), 60, 500);
}
TEST(one_walk, gradients) {
  for (const std::int64_t rows : {3, 300}) {
    const std::int64_t columns = 9000 / rows;
    const table data = {{"x", floats(1, {rows, columns}, -3, 3)}};
    check_backends(first_order("rows", define<"a">(i) = logsumexp(j, x(i, j)), x), data);
    check_backends(first_order("columns", define<"a">(j) = logsumexp(i, x(i, j)), x), data);
  }
}

bool is_one(const std::string& plan) { return plan.find("about it in one walk") != std::string::npos; }

// Of numbers as large as makes differences inexact, and of first ones that are far from the others.
table far_data(std::int64_t rows, std::int64_t columns) {
  values x = floats(1, {rows, columns}, 999, 1001);
  for (std::int64_t k = 0; k < rows * columns; k += columns + 1) x.numbers[static_cast<std::size_t>(k)] = 3e6;
  values d = x;
  d.type = element::f64;
  return {{"x", x}, {"d", d}};
}
template <class A, class B>
void check_moments(A a, B b, std::int64_t rows, std::int64_t columns) {
  check(a, b, rows, columns);
  check_backends(value_of("a", a), far_data(rows, columns));
  check_backends(value_of("b", b), far_data(rows, columns));
}
TEST(one_walk, squares_about_a_mean) {
  constexpr auto of_row = mean(j, x(i, j));
  constexpr auto of_column = mean(i, x(i, j));
  constexpr auto in_row = (x(i, j) - of_row) * (x(i, j) - of_row);
  constexpr auto in_column = (x(i, j) - of_column) * (x(i, j) - of_column);
  for (const std::int64_t rows : {1, 40, 2999}) {
    const std::int64_t columns = rows == 1 ? 9001 : rows == 40 ? 300 : 41;
    check_moments(define<"a">(i) = sum(j, in_row), define<"b">(i) = sum(j, in_row), rows, columns);
    check_moments(define<"a">(j) = sum(i, in_column), define<"b">(j) = sum(i, in_column), rows, columns);
  }
  check_moments(define<"a">(i) = var(d, dim<1>)(i), define<"b">(i) = var(d, dim<1>)(i), 9, 700);
  check_backends(first_order("var", var(x, dim<0>), x), far_data(500, 7));
  check_backends(first_order("layer_norm", layer_norm(x), x), far_data(7, 700));
}

// Of equals, and of what is not a number, the first; -1 of none.
TEST(one_walk, an_extremum_and_its_place) {
  for (const std::int64_t rows : {1, 40, 2999}) {
    const std::int64_t columns = rows == 1 ? 9001 : rows == 40 ? 300 : 41;
    check(define<"a">(j) = argmax(x, dim<0>)(j), define<"b">(j) = argmin(x, dim<0>)(j), rows, columns);
    check(define<"a">(i) = argmax(x, dim<1>)(i), define<"b">(i) = argmin(h, dim<1>)(i), rows, columns);
    check(define<"a">(j) = argmin(d, dim<0>)(j), define<"b">(j) = argmax(h, dim<0>)(j), rows, columns);
  }
  std::vector<double> numbers;
  for (int k = 0; k < 9001; ++k) numbers.push_back((k * 7919) % 30);
  check_backends(value_of("a", argmax(classes, dim<0>)), {{"classes", integers({9001}, numbers)}});
  const table none = {{"x", floats(1, {0, 33}, 0, 1)}};
  check_backends(value_of("a", argmax(x, dim<0>)), none);
}
TEST(one_walk, many_parts_are_joined_in_steps) {
  const std::string plan = plan_of({{1 << 22, 256}}, logsumexp(x, dim<0>));
  EXPECT_NE(plan.find("partial results, some at a time"), std::string::npos) << plan;
}
TEST(one_walk, where_a_walk_is_saved) {
  EXPECT_TRUE(is_one(plan_of({{32768, 32768}}, var(x, dim<0>))));
  EXPECT_TRUE(is_one(plan_of({{32768, 32768}}, var(x, dim<1>))));
  EXPECT_TRUE(is_one(plan_of({{262144, 1024}}, layer_norm(x))));
  EXPECT_TRUE(is_one(plan_of({{32768, 32768}}, logsumexp(x, dim<0>))));
  EXPECT_NE(plan_of({{32768, 32768}}, argmax(x, dim<0>)).find("its place in one walk"), std::string::npos);
  EXPECT_TRUE(is_one(plan_of({{32768, 32768}}, logsumexp(x, dim<1>))));
  EXPECT_TRUE(is_one(plan_of({{32768, 32768}, {32768}}, logsumexp(x, dim<1>), vjp(logsumexp(x, dim<1>), x))));
  EXPECT_TRUE(is_one(plan_of({{262144}, {262144, 1024}}, cross_entropy(x, classes))));
  EXPECT_FALSE(is_one(plan_of({{262144, 1024}}, softmax(x, dim<1>)))) << "powers are kept, and asked for";
  EXPECT_FALSE(is_one(plan_of({{1 << 22, 64}}, logsumexp(x, dim<1>)))) << "lanes have the row at once";
}

}  // namespace
}  // namespace sheaf::test::one_walk_tests
