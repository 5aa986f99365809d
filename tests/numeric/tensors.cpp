// Where data stands: returned arrays, the caller's views of any strides, static extents, ranks and extents of 0 and 1.
#include <support/both.hpp>

namespace {
using namespace sheaf;
using namespace sheaf::test;

constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto y = define<"y">(i, j) = x(i, j) * 2_c + 1_c;
constexpr auto s = define<"s">(j) = sum(i, x(i, j));

TEST(outputs, go_into_the_callers_views) {
  const auto values = noise_array<float>(-1, 1, 5, 33);
  const auto program = compile(y, s);
  const auto [expected, sums] = both(y, s)(x = values);
  array<float, 2> into(5, 33);
  array<float, 1> added(33);
  program(x = values, y = into, s = added);
  EXPECT_TRUE(same_bits(into, expected));
  EXPECT_TRUE(same_bits(added, sums));
  // One named, one returned.
  into.fill(0);
  const array<float, 1> returned = program(y = into, x = values);
  EXPECT_TRUE(same_bits(into, expected));
  EXPECT_TRUE(same_bits(returned, sums));
}

// Writes y through `to`, which views part of a canvas, and counts what changed outside the view.
template <class View>
void check_output_view(array<float, 2>& canvas, const View& to, const char* what) {
  canvas.fill(-77);
  array<float, 2> values(to.extent(0), to.extent(1));
  for (std::int64_t k = 0; k < values.size(); ++k) values.data()[k] = static_cast<float>(k);
  compile(y)(x = values, y = to);
  for (std::int64_t a = 0; a < to.extent(0); ++a)
    for (std::int64_t b = 0; b < to.extent(1); ++b)
      ASSERT_EQ(to(a, b), values(a, b) * 2 + 1) << what << " " << a << " " << b;
  std::int64_t untouched = 0;
  for (const float v : canvas) untouched += v == -77;
  EXPECT_EQ(untouched, canvas.size() - values.size()) << what;
}

TEST(outputs, strided_transposed_and_reversed_views) {
  array<float, 2> canvas(20, 40);
  const view<float, 2> whole = canvas;
  check_output_view(canvas, whole, "whole");
  check_output_view(canvas, whole.transposed(), "transposed");
  check_output_view(canvas, whole.strided(1, 3), "every third column");
  check_output_view(canvas, whole.strided(0, 2).sliced(1, 3, 30), "every second row, sliced");
  check_output_view(canvas, whole.strided(0, -1), "rows reversed");
  check_output_view(canvas, whole.strided(1, -1), "columns reversed");
  check_output_view(canvas, whole.strided(1, -3).strided(0, -2).transposed(), "all at once");
  check_output_view(canvas, whole.sliced(0, 1, 2).sliced(1, 5, 6), "one element");
  check_output_view(canvas, whole.sliced(1, 1, 18), "unaligned rows");
}

TEST(inputs, strided_transposed_reversed_and_repeated_views) {
  const auto canvas = noise_array<float>(-1, 1, 20, 40);
  const view<const float, 2> whole = canvas;
  const auto program = both(y, s);
  const auto check = [&](const view<const float, 2>& from, const char* what) {
    const auto [mapped, added] = program(x = from);
    for (std::int64_t b = 0; b < from.extent(1); ++b) {
      double total = 0;
      for (std::int64_t a = 0; a < from.extent(0); ++a) {
        ASSERT_EQ(mapped(a, b), from(a, b) * 2 + 1) << what;
        total += static_cast<double>(from(a, b));
      }
      ASSERT_NEAR(added(b), total, 1e-5) << what;
    }
  };
  check(whole, "whole");
  check(whole.transposed(), "transposed");
  check(whole.strided(1, 3), "every third column");
  check(whole.strided(1, -1), "columns reversed");
  check(whole.strided(0, -2).strided(1, -2).transposed(), "all at once");
  check(view_of(canvas.data(), {7, 11}, {0, 1}), "one row repeated");
  check(view_of(canvas.data(), {7, 11}, {1, 0}), "one column repeated");
  check(view_of(canvas.data() + 1, {3, 11}, {1, 1}), "rows that overlap");
}

TEST(inputs, from_vectors_spans_and_c_arrays) {
  constexpr auto v = tensor<"v", double, 1>;
  constexpr auto w = tensor<"w", double, 2>;
  const std::vector<double> values = {1, 2, 3};
  const double table[3][2] = {{1, 2}, {3, 4}, {5, 6}};
  EXPECT_EQ(both(define<"r">() = sum(over(i, j), v(i) * w(i, j)))(v = values, w = table), 1 * 3 + 2 * 7 + 3 * 11);
}

TEST(extents, fixed_ones) {
  constexpr auto w = tensor<"w", float, 2, 3, 4>;
  constexpr auto part = tensor<"part", float, 2, dynamic, 4>;
  constexpr auto product = define<"product">(i, axis<"o">) = sum(j, part(i, j) * w(axis<"o">, j));
  const auto a = noise_array<float>(-1, 1, 5, 4), b = noise_array<float>(-1, 1, 3, 4);
  const auto found = both(product)(part = a, w = b);
  ASSERT_EQ(found.extent(1), 3);
  double expected = 0;
  for (int k = 0; k < 4; ++k) expected += static_cast<double>(a(4, k)) * static_cast<double>(b(2, k));
  EXPECT_NEAR(found(4, 2), expected, 1e-6);
}

TEST(extents, zero_and_one) {
  const auto program = both(y, s, define<"total">() = sum(over(i, j), x(i, j)), define<"rows">(i) = max(j, x(i, j)));
  for (const int rows : {0, 1, 2})
    for (const int columns : {0, 1, 2, 17}) {
      array<float, 2> values(rows, columns);
      values.fill(3);
      const auto [mapped, added, total, high] = program(x = values);
      EXPECT_EQ(mapped.size(), rows * columns);
      for (const float v : added) EXPECT_EQ(v, static_cast<float>(3 * rows));
      EXPECT_EQ(total(), static_cast<float>(3 * rows * columns));
      for (const float v : high) EXPECT_EQ(v, columns == 0 ? -std::numeric_limits<float>::infinity() : 3);
    }
}

TEST(ranks, zero_to_six) {
  constexpr auto a = axis<"a">;
  constexpr auto b = axis<"b">;
  constexpr auto c = axis<"c">;
  constexpr auto d = axis<"d">;
  constexpr auto deep = tensor<"deep", float, 6>;
  const auto values = noise_array<float>(-1, 1, 2, 3, 2, 1, 3, 5);
  const auto [outer, inner] =
      both(define<"outer">(a, d) = sum(over(i, b, c, j), deep(a, i, b, c, j, d)),
           define<"inner">(j, i, c, b) = sum(over(a, d), deep(a, i, b, c, j, d)))(deep = values);
  double expected = 0;
  for (int k = 0; k < 90; ++k) expected += k % 5 == 4 ? static_cast<double>(values.data()[90 + k]) : 0;
  EXPECT_NEAR(outer(1, 4), expected, 1e-5);
  expected = 0;
  for (int p = 0; p < 2; ++p)
    for (int q = 0; q < 5; ++q) expected += static_cast<double>(values(p, 2, 1, 0, 1, q));
  EXPECT_NEAR(inner(1, 2, 0, 1), expected, 1e-5);
  constexpr auto point = scalar<"point", double>;
  EXPECT_EQ(both(define<"z">() = point * point)(point = 3.0), 9.0);
}

// An input that is an output too is copied.
TEST(outputs, expressions_inputs_and_constants) {
  const auto values = noise_array<float>(-1, 1, 3, 4);
  const auto [copied, total, seven] =
      both(x, sum(over(i, j), x(i, j)), define<"seven">(i) = 7_c + cast<float>(i) + 0_c * x(i, 0_c))(x = values);
  EXPECT_TRUE(same_bits(copied, values));
  EXPECT_EQ(seven(2), 9);
  double expected = 0;
  for (const float v : values) expected += static_cast<double>(v);
  EXPECT_NEAR(total(), expected, 1e-5);
}

}  // namespace
