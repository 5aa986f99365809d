// Policies of reductions: which of equals the derivative goes to, what nothing is worth, how sums accumulate.
#include <support/both.hpp>

namespace {
using namespace sheaf;
using namespace sheaf::test;

constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto x = tensor<"x", double, 1>;
constexpr auto m = tensor<"m", double, 2>;
constexpr auto cut = tensor<"cut", std::int64_t, 2>;

template <class T, int Rank>
std::vector<double> numbers(const array<T, Rank>& a) {
  std::vector<double> out;
  for (const T v : a) out.push_back(number_of(v));
  return out;
}
using list_of = std::vector<double>;

array<double, 1> gradient_of(auto loss, const array<double, 1>& values) { return both(grad(loss, x))(x = values); }

TEST(ties, even_first_last) {
  const array<double, 1> values = list<double>({1, 7, 3, 7, 7, 0});
  EXPECT_EQ(numbers(gradient_of(max(i, x(i)) * 6_c, values)), (list_of{0, 2, 0, 2, 2, 0}));
  EXPECT_EQ(numbers(gradient_of(max<ties::even>(i, x(i)) * 6_c, values)), (list_of{0, 2, 0, 2, 2, 0}));
  EXPECT_EQ(numbers(gradient_of(max<ties::first>(i, x(i)) * 6_c, values)), (list_of{0, 6, 0, 0, 0, 0}));
  EXPECT_EQ(numbers(gradient_of(max<ties::last>(i, x(i)) * 6_c, values)), (list_of{0, 0, 0, 0, 6, 0}));
  EXPECT_EQ(numbers(gradient_of(min<ties::first>(i, -x(i)), values)), (list_of{0, -1, 0, 0, 0, 0}));
  EXPECT_EQ(numbers(gradient_of(min<ties::last>(i, -x(i)), values)), (list_of{0, 0, 0, 0, -1, 0}));
}
TEST(ties, over_two_indices_in_order) {
  const array<double, 2> grid = filled(array<double, 2>(2, 3), {1, 5, 5, 5, 2, 5});
  EXPECT_EQ(numbers(both(grad(max<ties::first>(over(i, j), m(i, j)), m))(m = grid)), (list_of{0, 1, 0, 0, 0, 0}));
  EXPECT_EQ(numbers(both(grad(max<ties::last>(over(i, j), m(i, j)), m))(m = grid)), (list_of{0, 0, 0, 0, 0, 1}));
  EXPECT_EQ(numbers(both(grad(max<ties::first>(over(j, i), m(i, j)), m))(m = grid)), (list_of{0, 0, 0, 1, 0, 0}));
}
// Slices with overlap, a gap and nothing in the third.
TEST(ties, in_ragged_slices) {
  const array<std::int64_t, 2> bounds = filled(array<std::int64_t, 2>(4, 2), {0, 3, 1, 4, 2, 2, 4, 6});
  constexpr auto first = define<"first">(j) = max<ties::first>(i.in(cut(j, 0_c), cut(j, 1_c)), x(i));
  constexpr auto last = define<"last">(j) = max<ties::last>(i.in(cut(j, 0_c), cut(j, 1_c)), x(i));
  constexpr auto weight = tensor<"weight", double, 1>;
  constexpr auto a = define<"a">() = sum(j.where(cut(j, 0_c) < cut(j, 1_c)), first(j) * weight(j));
  constexpr auto b = define<"b">() = sum(j.where(cut(j, 0_c) < cut(j, 1_c)), last(j) * weight(j));
  const auto [y, da, db] = both(first, grad(a, x), grad(b, x))(x = list<double>({2, 8, 8, 8, 5, 5}), cut = bounds,
                                                               weight = list<double>({1, 10, 100, 1000}));
  EXPECT_EQ(y(1), 8);
  EXPECT_EQ(y(2), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(numbers(da), (list_of{0, 11, 0, 0, 1000, 0}));
  EXPECT_EQ(numbers(db), (list_of{0, 0, 1, 10, 0, 1000}));
}
TEST(ties, where_a_condition_holds) {
  constexpr auto loss = max<ties::first>(i.where(i % 2_c == 1_c), x(i) * x(i));
  EXPECT_EQ(numbers(gradient_of(loss, list<double>({3, -3, 3, 3, 1}))), (list_of{0, -6, 0, 0, 0}));
}
// The derivative of a chosen element is an expression like any other.
TEST(ties, second_derivative) {
  constexpr auto cube = define<"cube">() = max<ties::last>(i, x(i) * x(i) * x(i));
  constexpr auto slope = define<"slope">() = sum(i, grad(cube, x)(i));
  EXPECT_EQ(numbers(gradient_of(slope, list<double>({2, 1, 2}))), (list_of{0, 0, 12}));
}

TEST(empty_policy, of_every_reduction) {
  const array<std::int64_t, 2> bounds = filled(array<std::int64_t, 2>(2, 2), {1, 1, 0, 3});
  const auto value = [&](auto e) {
    return numbers(both(define<"y">(j) = e)(x = list<double>({2, 3, 4}), cut = bounds));
  };
  constexpr auto in = i.in(cut(j, 0_c), cut(j, 1_c));
  EXPECT_EQ(value(mean<empty::zero>(in, x(i))), (list_of{0, 3}));
  EXPECT_EQ(value(mean<empty::value<-1.5>>(in, x(i))), (list_of{-1.5, 3}));
  EXPECT_EQ(value(max<empty::zero>(in, x(i))), (list_of{0, 4}));
  EXPECT_EQ(value(sum<empty::value<7>>(in, x(i))), (list_of{7, 9}));
  EXPECT_EQ(value(sum<empty::identity>(in, x(i))), (list_of{0, 9}));
  EXPECT_EQ(value(logsumexp<empty::zero>(in, x(i)))[0], 0);
  EXPECT_EQ(value(argmax<empty::value<5>>(in, x(i))), (list_of{5, 2}));
  EXPECT_EQ(value(cast<double>(all<empty::value<0>>(in, x(i) > 0_c))), (list_of{0, 1}));
  EXPECT_TRUE(std::isnan(value(sum<empty::nan>(in, x(i)))[0]));
  EXPECT_EQ(value(sum<empty::nan>(in, x(i)))[1], 9);
  EXPECT_TRUE(std::isnan(value(mean<empty::identity>(in, x(i)))[0]));
}
// A condition that no element meets is nothing too; an empty slice sends no gradient, not even NaN.
TEST(empty_policy, gradients) {
  const array<std::int64_t, 2> bounds = filled(array<std::int64_t, 2>(3, 2), {1, 1, 0, 2, 0, 3});
  constexpr auto in = i.in(cut(j, 0_c), cut(j, 1_c)).where(x(i) > 0_c);
  constexpr auto a = define<"a">() = sum(j, mean<empty::zero>(in, x(i)));
  constexpr auto b = define<"b">() = sum(j, max<empty::zero, ties::first>(in, x(i)) * 2_c);
  constexpr auto c = define<"c">() = sum(j, logsumexp<empty::zero>(in, x(i)));
  const auto [da, db, dc] = both(grad(a, x), grad(b, x), grad(c, x))(x = list<double>({-1, -1, 5}), cut = bounds);
  EXPECT_EQ(numbers(da), (list_of{0, 0, 1}));
  EXPECT_EQ(numbers(db), (list_of{0, 0, 2}));
  EXPECT_EQ(numbers(dc), (list_of{0, 0, 1}));
}

// 1e8 + 1 - 1e8 in f32 loses the 1; in f64 it does not.
TEST(sum_policy, accumulate_and_compensated) {
  constexpr auto h = tensor<"h", float, 1>;
  const array<float, 1> values = list<float>({1e8, 1, -1e8, 1});
  const auto [a, b, c, d] =
      both(sum<accumulate<double>>(i, h(i)), sum<compensated>(i, h(i)), mean<accumulate<double>>(i, h(i)),
           grad(sum<compensated>(i, h(i) * h(i)), h))(h = values);
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(a)>, array<float, 0>>);
  EXPECT_EQ(a, 2.0f);
  EXPECT_EQ(b, 2.0f);
  EXPECT_EQ(c, 0.5f);
  EXPECT_EQ(d(1), 2.0f);
  constexpr auto n = tensor<"n", float16, 1>;
  array<float16, 1> ones(5000);
  for (float16& one : ones) one = to_float16(1);
  EXPECT_EQ(to_double(both(mean<compensated>(i, n(i)))(n = ones)()), 1);
  EXPECT_EQ(both(prod<accumulate<double>>(i, h(i)))(h = list<float>({1e30, 1e30, 1e-30, 1e-30})), 1.0f);
}

}  // namespace
