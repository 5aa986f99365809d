// Subscripts and domains of every kind, against plain loops on small numbers.
#include <support/both.hpp>

namespace {
using namespace sheaf;
using namespace sheaf::test;

constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto k = axis<"k">;
constexpr auto t = axis<"t">;
constexpr auto u = axis<"u">;
constexpr auto x = tensor<"x", float, 1>;
constexpr auto m = tensor<"m", float, 2>;
constexpr auto pick = tensor<"pick", std::int64_t, 1>;

array<float, 1> counting(int n, float first = 0) {
  array<float, 1> out(n);
  for (int a = 0; a < n; ++a) out(a) = first + static_cast<float>(a);
  return out;
}
array<float, 2> grid(int n, int width) {
  array<float, 2> out(n, width);
  for (int a = 0; a < n * width; ++a) out.data()[a] = static_cast<float>(a);
  return out;
}
template <class T, int Rank>
std::vector<double> numbers(const array<T, Rank>& a) {
  std::vector<double> out;
  for (const T v : a) out.push_back(number_of(v));
  return out;
}
using list_of = std::vector<double>;

TEST(subscripts, affine) {
  constexpr auto n = axis<"n", 4>;
  EXPECT_EQ(numbers(both(define<"y">(n) = x(2_c * n + 1_c))(x = counting(9))), (list_of{1, 3, 5, 7}));
  EXPECT_EQ(numbers(both(define<"y">(n) = x(8_c - 2_c * n))(x = counting(9))), (list_of{8, 6, 4, 2}));
  constexpr auto window = define<"window">(n) = sum(u.in(0_c, 3_c), x(2_c * n + u - 0_c));
  EXPECT_EQ(numbers(both(window)(x = counting(9))), (list_of{3, 9, 15, 21}));
}

TEST(subscripts, constant_and_extent) {
  EXPECT_EQ(both(define<"y">() = x(0_c) + x(extent(x, dim<0>) - 1_c) * 10_c)(x = counting(6)), 50);
  EXPECT_EQ(numbers(both(define<"y">(j) = m(1_c, j) - m(extent(m, dim<0>) - 1_c, j))(m = grid(4, 3))),
            (list_of{-6, -6, -6}));
  constexpr auto backwards = define<"backwards">(i) = x(x.extent(dim<0>) - 1_c - i);
  // The index subscripts nothing directly here, so its extent comes from a domain or a declaration.
  constexpr auto five = axis<"five", 5>;
  EXPECT_EQ(numbers(both(define<"y">(five) = x(x.extent(dim<0>) - 1_c - five))(x = counting(5))),
            (list_of{4, 3, 2, 1, 0}));
  (void)backwards;
}

TEST(subscripts, quotient_and_remainder) {
  constexpr auto p = axis<"p", 12>;
  constexpr auto flat_order = define<"flat_order">(p) = m(p / 3_c, p % 3_c);
  EXPECT_EQ(numbers(both(flat_order)(m = grid(4, 3))), numbers(counting(12)));
  constexpr auto repeated = define<"repeated">(p) = x(quotient(p, 4_c)) + 10_c * x(remainder(p, 2_c));
  EXPECT_EQ(numbers(both(repeated)(x = counting(3))), (list_of{0, 10, 0, 10, 1, 11, 1, 11, 2, 12, 2, 12}));
}

TEST(subscripts, data) {
  const std::vector<std::int64_t> ids = {3, 0, 3, 1};
  EXPECT_EQ(numbers(both(define<"y">(k) = x(pick(k)))(x = counting(4, 10), pick = ids)), (list_of{13, 10, 13, 11}));
  EXPECT_EQ(numbers(both(define<"y">(k, j) = m(pick(k), j))(m = grid(4, 2), pick = ids)),
            (list_of{6, 7, 0, 1, 6, 7, 2, 3}));
  EXPECT_EQ(numbers(both(define<"y">(k) = x(pick(pick(k))))(x = counting(4), pick = ids)), (list_of{1, 3, 1, 0}));
  EXPECT_EQ(both(define<"y">() = mean(k, x(pick(k))))(x = counting(4), pick = ids), 7.0f / 4);
}

TEST(subscripts, of_narrow_integers) {
  constexpr auto small = tensor<"small", std::uint8_t, 1>;
  constexpr auto middle = tensor<"middle", std::int32_t, 1>;
  const auto y = both(define<"y">(k) = x(small(k)) * 100_c + x(middle(k) + small(k)));
  EXPECT_EQ(numbers(y(x = counting(250), small = list<std::uint8_t>({200, 1}), middle = list<std::int32_t>({-199, 8}))),
            (list_of{20001, 109}));
}

// The same index twice, and a transposition.
TEST(subscripts, diagonal_and_transposition) {
  EXPECT_EQ(numbers(both(define<"y">(i) = m(i, i))(m = grid(3, 3))), (list_of{0, 4, 8}));
  EXPECT_EQ(numbers(both(define<"y">(j, i) = m(i, j))(m = grid(2, 3))), (list_of{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(both(define<"trace">() = sum(i, m(i, i)))(m = grid(4, 4)), 0 + 5 + 10 + 15);
}

TEST(subscripts, indices_are_values_too) {
  EXPECT_EQ(numbers(both(define<"y">(i) = x(i) * i)(x = counting(4, 1))), (list_of{0, 2, 6, 12}));
  EXPECT_EQ(both(define<"y">() = sum(over(i, j), cast<float>(i == j) * m(i, j)))(m = grid(3, 3)), 12);
}

TEST(padding, outside_is_the_value_asked_for) {
  constexpr auto n = axis<"n", 6>;
  EXPECT_EQ(numbers(both(define<"y">(n) = x.padded(0_c)(n - 1_c))(x = counting(4, 1))), (list_of{0, 1, 2, 3, 4, 0}));
  EXPECT_EQ(numbers(both(define<"y">(n) = x.padded(-1_c)(2_c * n - 3_c))(x = counting(4, 1))),
            (list_of{-1, -1, 2, 4, -1, -1}));
  constexpr auto blur = define<"blur">(i, j) =
      sum(over(t.in(-1_c, 2_c), u.in(-1_c, 2_c)), m.padded(0_c)(i + t, j + u)) + m(i, j) * 0_c;
  const auto found = both(blur)(m = grid(3, 3));
  EXPECT_EQ(found(0, 0), 0 + 1 + 3 + 4);
  EXPECT_EQ(found(1, 1), 36);
  EXPECT_EQ(found(2, 0), 3 + 4 + 6 + 7);
}

TEST(padding, data_subscripts_and_inside) {
  const std::vector<std::int64_t> ids = {-1, 2, 5, 0};
  EXPECT_EQ(numbers(both(define<"y">(k) = x.padded(7_c)(pick(k)))(x = counting(4), pick = ids)), (list_of{7, 2, 7, 0}));
  EXPECT_EQ(both(define<"y">() = count(k, x.inside(pick(k))))(x = counting(4), pick = ids), 2);
}

TEST(domains, ranges_steps_conditions) {
  EXPECT_EQ(both(define<"y">() = sum(t.in(2_c, 5_c), x(t)))(x = counting(9)), 2 + 3 + 4);
  EXPECT_EQ(both(define<"y">() = sum(t.in(1_c, 9_c, 3_c), x(t)))(x = counting(9)), 1 + 4 + 7);
  EXPECT_EQ(both(define<"y">() = sum(t.in(1_c, 8_c, 3_c), x(t)))(x = counting(9)), 1 + 4 + 7);
  EXPECT_EQ(both(define<"y">() = sum(t.in(1_c, 7_c, 3_c), x(t)))(x = counting(9)), 1 + 4);
  EXPECT_EQ(both(define<"y">() = sum(t.where(x(t) > 2_c && x(t) < 6_c), x(t)))(x = counting(9)), 3 + 4 + 5);
  EXPECT_EQ(both(define<"y">() = mean(t.in(0_c, 8_c).where(t % 2_c == 1_c), x(t)))(x = counting(9)), 4);
  EXPECT_EQ(both(define<"y">() = argmax(t.in(3_c, 6_c), -x(t)))(x = counting(9)), 3);
  EXPECT_EQ(both(define<"y">() = max(t.in(1_c, 9_c, 4_c), -x(t)))(x = counting(9)), -1);
}

TEST(domains, bounds_are_data) {
  constexpr auto cut = tensor<"cut", std::int64_t, 2>;
  const std::int64_t ends[3][2] = {{0, 3}, {2, 2}, {4, 9}};
  constexpr auto total = define<"total">(i) = sum(t.in(cut(i, 0_c), cut(i, 1_c)), x(t));
  constexpr auto steps = define<"steps">(i) = sum(t.in(cut(i, 0_c), cut(i, 1_c), 2_c), x(t));
  constexpr auto many = define<"many">(i) = count(t.in(cut(i, 0_c), cut(i, 1_c)).where(x(t) > 1_c), x(t) > -1_c);
  const auto [a, b, c] = both(total, steps, many)(x = counting(9), cut = ends);
  EXPECT_EQ(numbers(a), (list_of{3, 0, 30}));
  EXPECT_EQ(numbers(b), (list_of{2, 0, 18}));
  EXPECT_EQ(numbers(c), (list_of{1, 0, 5}));
}

// PATTERNS A4.
TEST(domains, slice_mean_of_overlapping_slices) {
  constexpr auto cut = tensor<"cut", std::int64_t, 2>;
  const std::int64_t ends[4][2] = {{3, 5}, {1, 8}, {4, 8}, {6, 9}};
  constexpr auto pooled = define<"pooled">(i, j) = mean(t.in(cut(i, 0_c), cut(i, 1_c)), m(t, j));
  EXPECT_EQ(numbers(both(pooled)(m = grid(10, 4), cut = ends)),
            (list_of{14, 15, 16, 17, 16, 17, 18, 19, 22, 23, 24, 25, 28, 29, 30, 31}));
}

TEST(domains, later_ranges_depend_on_earlier_indices) {
  constexpr auto lower = define<"lower">() = sum(over(i, j.in(0_c, i + 1_c)), m(i, j));
  EXPECT_EQ(both(lower)(m = grid(3, 3)), 0 + 3 + 4 + 6 + 7 + 8);
  constexpr auto running = define<"running">(t) = sum(i.in(0_c, t + 1_c), x(i)) + x(t) * 0_c;
  EXPECT_EQ(numbers(both(running)(x = counting(5))), (list_of{0, 1, 3, 6, 10}));
  constexpr auto offsets = tensor<"offsets", std::int64_t, 1>;
  constexpr auto nested = define<"nested">() =
      sum(over(i.in(0_c, 3_c), t.in(offsets(i), offsets(i + 1_c))), x(t) * (i + 1_c));
  EXPECT_EQ(both(nested)(x = counting(6), offsets = std::vector<std::int64_t>{0, 1, 4, 6}),
            0 + 2 * (1 + 2 + 3) + 3 * (4 + 5));
}

TEST(definitions, with_the_size_of_an_index_given) {
  constexpr auto v = tensor<"v", double, 1>;
  constexpr auto bin = tensor<"bin", std::int64_t, 1>;
  constexpr auto s = axis<"s">;
  constexpr auto running = define<"running">(t.in(0_c, extent(v, dim<0>))) = sum(s.in(0_c, t + 1_c), v(s));
  constexpr auto histogram = define<"histogram">(j.in(0_c, 4_c)) = count(s, bin(s) == j);
  const auto [r, h, d] = both(running, histogram, grad(sum(t, running(t)), v))(
      v = std::vector<double>{1, 2, 3, 4, 5}, bin = std::vector<std::int64_t>{0, 1, 1, 3, 3, 3});
  for (int k = 0; k < 5; ++k) EXPECT_EQ(r(k), (k + 1) * (k + 2) / 2);
  for (int k = 0; k < 5; ++k) EXPECT_EQ(d(k), 5 - k);
  for (int k = 0; k < 4; ++k) EXPECT_EQ(h(k), (std::vector{1, 2, 0, 3})[static_cast<std::size_t>(k)]);
}

TEST(definitions, used_at_several_subscripts) {
  constexpr auto square = define<"square">(i) = x(i) * x(i);
  constexpr auto difference = define<"difference">(t) = square(t) - square(extent(x, dim<0>) - 1_c - t);
  EXPECT_EQ(numbers(both(difference)(x = counting(3))), (list_of{-4, 0, 4}));
  constexpr auto mixed = define<"mixed">() = sum(i, square(i)) + square(1_c) * square(2_c);
  EXPECT_EQ(both(mixed)(x = counting(4)), 14 + 4);
  constexpr auto twice = define<"twice">(i) = square(pick(i)) + square(i);
  EXPECT_EQ(numbers(both(twice)(x = counting(3), pick = std::vector<std::int64_t>{2, 2, 0})), (list_of{4, 5, 4}));
}

TEST(definitions, of_definitions_and_as_outputs_too) {
  constexpr auto mean_row = define<"mean_row">(i) = mean(j, m(i, j));
  constexpr auto centred = define<"centred">(i, j) = m(i, j) - mean_row(i);
  constexpr auto spread = define<"spread">(i) = sum(j, centred(i, j) * centred(i, j));
  const auto [a, b, c] = both(mean_row, centred, spread)(m = grid(2, 3));
  EXPECT_EQ(numbers(a), (list_of{1, 4}));
  EXPECT_EQ(numbers(b), (list_of{-1, 0, 1, -1, 0, 1}));
  EXPECT_EQ(numbers(c), (list_of{2, 2}));
}

}  // namespace
