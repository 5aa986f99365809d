// Inputs whose closest elements don't lie along the last dimension: plans take them as they lie, results and errors
// don't tell.
#include <support/both.hpp>

namespace {
using namespace sheaf;
using namespace sheaf::test;

constexpr auto a = axis<"a">;
constexpr auto b = axis<"b">;
constexpr auto c = axis<"c">;
constexpr auto k = axis<"k">;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto z = tensor<"z", float, 3>;
constexpr auto fixed = tensor<"fixed", float, 2, 20, 33>;
constexpr auto ids = tensor<"ids", std::int64_t, 2>;

bool takes(const std::string& plan, const std::string& line) { return plan.find(line) != std::string::npos; }

template <class T, int Rank>
view<const T, Rank> permuted(const array<T, Rank>& of, const std::array<int, static_cast<std::size_t>(Rank)>& order) {
  const view<const T, Rank> whole = of;
  std::int64_t extents[Rank], strides[Rank];
  for (std::size_t d = 0; d < static_cast<std::size_t>(Rank); ++d) {
    extents[d] = whole.extent(order[d]);
    strides[d] = whole.stride(order[d]);
  }
  return view<const T, Rank>(of.data(), extents, strides);
}

TEST(layouts, transposed_matrices_as_they_lie) {
  constexpr auto rows = define<"rows">(a) = sum(b, x(a, b) * x(a, b));
  constexpr auto columns = define<"columns">(b) = max(a, x(a, b));
  const auto values = noise_array<float>(-1, 1, 33, 20);
  const auto transposed = permuted(values, {1, 0});
  both(rows, columns, grad(define<"l">() = sum(a, rows(a) * rows(a)), x))(x = transposed);
  const std::string plan = compile(rows).explain(x = transposed);
  EXPECT_TRUE(takes(plan, "input x: dimension 0 is the last here")) << plan;
  EXPECT_FALSE(takes(compile(rows).explain(x = values), "is the last here"));
}

TEST(layouts, of_three_dimensions_and_any_order) {
  constexpr auto y = define<"y">(a, c) = mean(b, z(a, b, c));
  constexpr auto e = define<"e">(a, b) = logsumexp(c, z(a, b, c));
  const auto values = noise_array<float>(-1, 1, 5, 7, 19);
  for (const std::array<int, 3> order : {std::array{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}})
    both(y, e, vjp(y, z))(z = permuted(values, order),
                          cotangent(y) = noise_array<float>(-1, 1, values.extent(order[0]), values.extent(order[2])));
}

TEST(layouts, static_extents_and_every_second) {
  constexpr auto y = define<"y">(b) = sum(a, fixed(a, b));
  const auto values = noise_array<float>(-1, 1, 33, 20);
  both(y)(fixed = permuted(values, {1, 0}));
  const auto wide = noise_array<float>(-1, 1, 40, 66);
  const view<const float, 2> whole = wide;
  both(y)(fixed = whole.strided(0, 2).strided(1, 2));
  both(y)(fixed = whole.strided(0, -2).strided(1, -2));
}

template <std::int64_t Columns>
void narrow() {
  constexpr auto y = define<"y">(a) = sum(b, x(a, b));
  constexpr auto m = define<"m">(a) = max(b, x(a, b) * x(a, b));
  constexpr auto e = define<"e">(a, b) = exp(x(a, b)) / sum(k.in(0_c, x.extent(dim<1>)), exp(x(a, k)));
  const auto values = noise_array<float>(-1, 1, 133, Columns);
  both(y, m, vjp(y, x), vjp(m, x), softmax(x, dim<1>), mean(x, dim<0>))(
      x = values, cotangent(y) = noise_array<float>(-1, 1, 133), cotangent(m) = noise_array<float>(-1, 1, 133));
  both(e)(x = values);
  EXPECT_TRUE(
      takes(compile(y).explain(x = values), "input x: rows of " + std::to_string(Columns) + " are one dimension"));
}

TEST(layouts, narrow_rows_in_lanes) {
  narrow<2>();
  narrow<3>();
  narrow<5>();
  narrow<8>();
  // Columns that are not all read, or rows apart, stay as they are.
  constexpr auto some = define<"some">(a) = sum(b.in(1_c, x.extent(dim<1>)), x(a, b));
  const auto values = noise_array<float>(-1, 1, 133, 5);
  both(some)(x = values);
  EXPECT_FALSE(takes(compile(some).explain(x = values), "one dimension"));
  const view<const float, 2> whole = values;
  both(some, sum(x, dim<1>))(x = whole.sliced(1, 0, 3));
}

// Rows that are written as they are read, or with their columns in front, into memory with and without gaps.
template <class T, int Columns>
void few_columns() {
  constexpr auto n = tensor<"n", T, 2>;
  constexpr auto s = tensor<"s", T, 1>;
  constexpr auto m = tensor<"m", T, 1>;
  constexpr auto scaled = define<"scaled">(a, b) = n(a, b) * s(b) + m(a);
  constexpr auto turned = define<"turned">(b, a) = n(a, b) - m(a);
  const auto values = noise_array<T>(-1, 1, 133, Columns), by = noise_array<T>(-1, 1, Columns);
  const auto of_rows = noise_array<T>(-1, 1, 133);
  both(scaled, turned)(n = values, s = by, m = of_rows);
  const bool moved = takes(compile(turned).explain(n = values, m = of_rows), "are one dimension");
  EXPECT_EQ(moved, Columns <= 4);
  const std::string plan = compile(scaled).explain(n = values, s = by, m = of_rows);
  EXPECT_EQ(takes(plan, "input n: rows of " + std::to_string(Columns) + " are one dimension"), Columns <= 4) << plan;
  array<T, 2> updated = values;
  const std::string own = compile(scaled).explain(n = updated, s = by, m = of_rows, scaled = updated);
  EXPECT_TRUE(takes(own, "updates n in place")) << own;
  array<T, 2> wide(133, Columns + 3);
  const view<T, 2> whole = wide;
  compile(scaled)(n = values, s = by, m = of_rows, scaled = whole.sliced(1, 1, 1 + Columns));
  array<T, 2> dense(133, Columns);
  compile(scaled)(n = values, s = by, m = of_rows, scaled = dense);
  for (std::int64_t i = 0; i < 133; ++i)
    for (std::int64_t j = 0; j < Columns; ++j) EXPECT_EQ(wide(i, 1 + j), dense(i, j));
}

TEST(layouts, few_columns_of_results) {
  few_columns<float, 2>();
  few_columns<float, 3>();
  few_columns<float, 4>();
  few_columns<float, 7>();
  few_columns<double, 3>();
}

TEST(layouts, columns_by_number) {
  constexpr auto edges = tensor<"edges", std::int64_t, 2>;
  constexpr auto gap = define<"gap">(a) = x(edges(a, 0_c), 0_c) - x(edges(a, 1_c), 1_c) * x(edges(a, 0_c), 1_c);
  constexpr auto box = define<"box">(a, c) = x(a, 0_c) * z(c, a, 1_c) + x(a, 1_c);
  const auto values = noise_array<float>(-1, 1, 100, 2);
  array<std::int64_t, 2> numbers(100, 2);
  for (std::int64_t n = 0; n < 200; ++n) numbers.data()[n] = n * 7 % 100;
  both(gap, vjp(gap, x))(x = values, edges = numbers, cotangent(gap) = noise_array<float>(-1, 1, 100));
  both(box, vjp(box, x))(x = values, z = noise_array<float>(-1, 1, 3, 100, 4),
                         cotangent(box) = noise_array<float>(-1, 1, 100, 3));
  const std::string plan = compile(gap).explain(x = values, edges = numbers);
  EXPECT_TRUE(takes(plan, "input edges: rows of 2 are one dimension")) << plan;
  EXPECT_FALSE(takes(plan, "input x: rows")) << plan;
  // Ends of ranges stay two columns, and a column that is not there is the error that it was.
  constexpr auto slices = define<"slices">(a) = sum(k.in(edges(a, 0_c), edges(a, 1_c)), x(k, 0_c));
  EXPECT_FALSE(takes(compile(slices).explain(x = values, edges = numbers), "input edges: rows"));
  constexpr auto beyond = define<"beyond">(a) = edges(a, 2_c);
  numbers(60, 1) = 100;
  const auto fails = [](auto&& call, const char* with) {
    try {
      call();
      ADD_FAILURE();
    } catch (const error& e) {
      EXPECT_STREQ(e.what(), with);
    }
  };
  fails([&] { compile(beyond)(edges = numbers); },
        "tensor edges, dimension 1: expected a subscript from 0 to 1, found 2 for 2");
  fails([&] { compile(gap)(x = values, edges = numbers); },
        "tensor x, dimension 0: expected a subscript from 0 to 99, found 100 for edges(a, 1) at a = 60");
}

TEST(layouts, narrow_rows_with_fixed_extents_and_checks) {
  constexpr auto w = tensor<"w", float, 3, 4, 100, 3>;
  constexpr auto pick = tensor<"pick", std::int64_t, 1>;
  constexpr auto y = define<"y">(a, k) = sum(b, w(a, k, b)) * z(a, pick(k), 0_c);
  const auto of_w = noise_array<float>(-1, 1, 4, 100, 3);
  const auto of_z = noise_array<float>(-1, 1, 4, 70, 2);
  array<std::int64_t, 1> numbers(100);
  for (std::int64_t n = 0; n < 100; ++n) numbers(n) = n % 70;
  both(y)(w = of_w, z = of_z, pick = numbers);
  numbers(71) = 70;
  try {
    compile(y)(w = of_w, z = of_z, pick = numbers);
    FAIL();
  } catch (const error& e) {
    EXPECT_STREQ(e.what(), "tensor z, dimension 1: expected a subscript from 0 to 69, found 70 for pick(k) at k = 71");
  }
}

TEST(layouts, of_ids_and_the_words_for_wrong_ones) {
  constexpr auto y = define<"y">(a, c) = mean(k, z(a, ids(a, k), c));
  const auto values = noise_array<float>(-1, 1, 3, 4, 6);
  array<std::int64_t, 2> numbers(5, 3);
  for (std::int64_t n = 0; n < 15; ++n) numbers.data()[n] = n % 4;
  both(y)(z = values, ids = permuted(numbers, {1, 0}));
  numbers(2, 1) = 4;
  const auto said = [&](const auto& of_values) {
    try {
      compile(y)(z = of_values, ids = permuted(numbers, {1, 0}));
    } catch (const error& e) {
      return std::string(e.what());
    }
    return std::string("nothing");
  };
  const std::string words =
      "tensor z, dimension 1: expected a subscript from 0 to 3, found 4 for ids(a, k) at k = 2, a = 1";
  EXPECT_NE(said(values).find(words), std::string::npos) << said(values);
  const auto moved = noise_array<float>(-1, 1, 4, 3, 6);
  EXPECT_NE(said(permuted(moved, {1, 0, 2})).find(words), std::string::npos);
  const auto other = noise_array<float>(-1, 1, 6, 4, 3);
  EXPECT_NE(said(permuted(other, {2, 1, 0})).find(words), std::string::npos) << said(permuted(other, {2, 1, 0}));
}

// Extents of few elements are numbers in plans; an index whose range is the same by them alone is still another one.
TEST(layouts, few_elements_are_numbers) {
  constexpr auto v = tensor<"v", float, 2>;
  constexpr auto f = tensor<"f", std::int64_t, 2>;
  constexpr auto t = axis<"t">;
  constexpr auto e1 = define<"e1">(t, a) = v(f(t, 1_c), a) - v(f(t, 0_c), a);
  constexpr auto e2 = define<"e2">(t, a) = v(f(t, 2_c), a) - v(f(t, 0_c), a);
  constexpr auto normal = define<"normal">(t, a.in(0_c, 3_c)) =
      e1(t, (a + 1_c) % 3_c) * e2(t, (a + 2_c) % 3_c) - e1(t, (a + 2_c) % 3_c) * e2(t, (a + 1_c) % 3_c);
  constexpr auto area = define<"area">() = sum(t, sqrt(sum(a.in(0_c, 3_c), normal(t, a) * normal(t, a)) + 1_c));
  array<std::int64_t, 2> corners(11, 3);
  for (std::int64_t n = 0; n < 11 * 3; ++n) corners.data()[n] = (n * 7 + n / 3) % 29;
  both(area, grad(area, v))(v = noise_array<float>(-1, 1, 29, 3), f = corners);
  both(area, grad(area, v))(v = noise_array<float>(-1, 1, 29, 4), f = corners);
  both(area, grad(area, v))(v = noise_array<float>(-1, 1, 29, 9), f = corners);
}

// One program, called with rows of other lengths in turn.
TEST(layouts, few_elements_change_from_call_to_call) {
  constexpr auto y = define<"y">(a) = sum(over(b, c), z(a, b, c) * z(a, b, c));
  const auto step = compile(y, grad(define<"l">() = sum(a, y(a)), z));
  for (const std::int64_t rows : {2, 3, 5, 1, 0, 4})
    for (const std::int64_t columns : {3, 4, 1, 7, 0, 3}) {
      const auto values = noise_array<float>(-1, 1, 6, rows, columns);
      const auto result = step(z = values);
      for (std::int64_t n = 0; n < 6; ++n) {
        double sum = 0;
        for (std::int64_t k = n * rows * columns; k < (n + 1) * rows * columns; ++k)
          sum += double(values.data()[k]) * double(values.data()[k]);
        EXPECT_NEAR(std::get<0>(result).data()[n], sum, 1e-4) << rows << " " << columns;
      }
    }
}

}  // namespace
