// What the language says about the corners: NaN, ties, nothing to fold, overflow, -0, infinities, negative division.
#include <support/both.hpp>

namespace {
using namespace sheaf;
using namespace sheaf::test;

constexpr auto i = axis<"i">;
constexpr auto x = tensor<"x", float, 1>;
constexpr auto n = tensor<"n", std::int32_t, 1>;
constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

// Values with one odd one at each place of a vector and a tail.
array<float, 1> with(float odd, int where, int length = 67) {
  array<float, 1> out(length);
  for (int k = 0; k < length; ++k) out(k) = static_cast<float>(k % 7) - 3;
  if (where >= 0) out(where) = odd;
  return out;
}

TEST(nan_values, win_in_max_and_min_wherever_they_stand) {
  const auto program = both(define<"high">() = max(i, x(i)), define<"low">() = min(i, x(i)),
                            define<"at">() = argmax(i, x(i)), define<"lowest">() = argmin(i, x(i)));
  for (const int where : {0, 1, 7, 8, 15, 16, 31, 63, 64, 66}) {
    const auto [high, low, at, lowest] = program(x = with(nan, where));
    EXPECT_TRUE(std::isnan(high())) << where;
    EXPECT_TRUE(std::isnan(low())) << where;
    EXPECT_EQ(at(), where);
    EXPECT_EQ(lowest(), where);
  }
}

TEST(nan_values, in_elementwise_ops) {
  constexpr auto z = tensor<"z", float, 1>;
  const auto [high, low, equal, unequal, less, both_true, signs] =
      both(define<"high">(i) = maximum(x(i), z(i)), define<"low">(i) = minimum(x(i), z(i)),
           define<"equal">(i) = x(i) == z(i), define<"unequal">(i) = x(i) != z(i), define<"less">(i) = x(i) < z(i),
           define<"both_true">(i) = x(i) && z(i),
           define<"signs">(i) = sign(x(i)))(x = list<float>({nan, 1, nan}), z = list<float>({1, nan, nan}));
  for (int k = 0; k < 3; ++k) {
    EXPECT_TRUE(std::isnan(high(k)));
    EXPECT_TRUE(std::isnan(low(k)));
    EXPECT_FALSE(equal(k));
    EXPECT_TRUE(unequal(k));
    EXPECT_FALSE(less(k));
    EXPECT_TRUE(both_true(k));  // NaN is not zero
  }
  EXPECT_EQ(signs(0), 0);  // as PyTorch
}

TEST(ties, the_first_position_wins) {
  const auto program = both(define<"at">() = argmax(i, x(i)), define<"low">() = argmin(i, x(i)));
  array<float, 1> values(100);
  values.fill(1);
  EXPECT_EQ(std::get<0>(program(x = values))(), 0);
  values(37) = values(80) = 2;
  values(41) = values(99) = -2;
  const auto [at, low] = program(x = values);
  EXPECT_EQ(at(), 37);
  EXPECT_EQ(low(), 41);
  EXPECT_EQ(both(define<"at">() = argmax(i.in(10_c, 90_c).where(x(i) < 2_c), x(i)))(x = values), 10);
}

TEST(nothing_to_fold, gives_each_reductions_identity) {
  const array<float, 1> none(0);
  const array<std::int32_t, 1> no_integers(0);
  const auto [s, p, high, low, some, every, m, c, l, at] =
      both(define<"s">() = sum(i, x(i)), define<"p">() = prod(i, x(i)), define<"high">() = max(i, x(i)),
           define<"low">() = min(i, x(i)), define<"some">() = any(i, x(i) > 0_c),
           define<"every">() = all(i, x(i) > 0_c), define<"m">() = mean(i, x(i)), define<"c">() = count(i, x(i) > 0_c),
           define<"l">() = logsumexp(i, x(i)), define<"at">() = argmax(i, x(i)))(x = none);
  EXPECT_EQ(s(), 0);
  EXPECT_EQ(p(), 1);
  EXPECT_EQ(high(), -inf);
  EXPECT_EQ(low(), inf);
  EXPECT_FALSE(some());
  EXPECT_TRUE(every());
  EXPECT_TRUE(std::isnan(m()));
  EXPECT_EQ(c(), 0);
  EXPECT_EQ(l(), -inf);
  EXPECT_EQ(at(), -1);
  const auto [top, bottom] = both(define<"top">() = max(i, n(i)), define<"bottom">() = min(i, n(i)))(n = no_integers);
  EXPECT_EQ(top(), std::numeric_limits<std::int32_t>::min());
  EXPECT_EQ(bottom(), std::numeric_limits<std::int32_t>::max());
}

TEST(nothing_to_fold, because_of_a_condition_or_an_empty_range) {
  const auto values = with(0, -1);
  const auto [m, high, s, at] = both(
      define<"m">() = mean(i.where(x(i) > 100_c), x(i)), define<"high">() = max(i.in(5_c, 5_c), x(i)),
      define<"s">() = sum(i.in(5_c, 5_c, 2_c), x(i)), define<"at">() = argmin(i.where(x(i) > 100_c), x(i)))(x = values);
  EXPECT_TRUE(std::isnan(m()));
  EXPECT_EQ(high(), -inf);
  EXPECT_EQ(s(), 0);
  EXPECT_EQ(at(), -1);
}

TEST(integers, wrap_and_divide_with_floor) {
  constexpr auto d = tensor<"d", std::int32_t, 1>;
  constexpr std::int32_t high = std::numeric_limits<std::int32_t>::max(),
                         low = std::numeric_limits<std::int32_t>::min();
  const auto [sum_, product, quotient_, rest, opposite, size] =
      both(define<"sum_">(i) = n(i) + d(i), define<"product">(i) = n(i) * d(i), define<"quotient_">(i) = n(i) / d(i),
           define<"rest">(i) = n(i) % d(i), define<"opposite">(i) = -n(i), define<"size">(i) = abs(n(i)))(
          n = list<std::int32_t>({high, low, -7, 7, -7, 6, -6}), d = list<std::int32_t>({1, 3, 2, -2, -2, 3, 3}));
  EXPECT_EQ(sum_(0), low);
  EXPECT_EQ(product(1), low);
  const std::int32_t quotients[] = {high, -715827883, -4, -4, 3, 2, -2}, rests[] = {0, 1, 1, -1, -1, 0, 0};
  for (int k = 0; k < 7; ++k) {
    EXPECT_EQ(quotient_(k), quotients[k]) << k;
    EXPECT_EQ(rest(k), rests[k]) << k;
  }
  EXPECT_EQ(opposite(1), low);
  EXPECT_EQ(size(1), low);
}

TEST(integers, are_summed_in_i64) {
  constexpr auto small = tensor<"small", std::int8_t, 1>;
  array<std::int8_t, 1> values(1000);
  values.fill(127);
  EXPECT_EQ(both(define<"s">() = sum(i, small(i)))(small = values), 127000);
  array<std::int32_t, 1> large(5);
  large.fill(std::numeric_limits<std::int32_t>::max());
  EXPECT_EQ(both(define<"s">() = sum(i, n(i)))(n = large), 5ll * std::numeric_limits<std::int32_t>::max());
}

TEST(zeros, keep_their_sign_where_an_op_gives_one) {
  const auto [opposite, product, root, rounded] =
      both(define<"opposite">(i) = -x(i), define<"product">(i) = x(i) * -1_c, define<"root">(i) = sqrt(x(i)),
           define<"rounded">(i) = round(x(i)))(x = list<float>({0.0, -0.0, -0.25}));
  EXPECT_TRUE(std::signbit(opposite(0)));
  EXPECT_FALSE(std::signbit(opposite(1)));
  EXPECT_TRUE(std::signbit(product(0)));
  EXPECT_TRUE(std::signbit(root(1)));
  EXPECT_TRUE(std::signbit(rounded(2)));
  EXPECT_TRUE(std::isnan(root(2)));
}

// Rounding is to even, as std::nearbyint and PyTorch do.
TEST(rounding, of_halves_is_to_even) {
  const auto found = both(define<"y">(i) = round(x(i)))(x = list<float>({0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 8388609.0}));
  const float expected[] = {0, 2, 2, -0.0f, -2, -2, 8388609};
  for (int k = 0; k < 7; ++k) EXPECT_EQ(found(k), expected[k]);
}

// A false factor takes away what it stands before, infinities and NaN too; a zero does not.
TEST(masks, false_times_anything_is_zero) {
  constexpr auto keep = tensor<"keep", bool, 1>;
  const auto [masked, total, scaled] =
      both(define<"masked">(i) = keep(i) * x(i), define<"total">() = sum(i, keep(i) * x(i)),
           define<"scaled">(i) = cast<float>(keep(i) + keep(i)) * x(i))(x = list<float>({nan, inf, 3}),
                                                                        keep = list<bool>({0, 0, 1}));
  EXPECT_EQ(masked(0), 0);
  EXPECT_EQ(masked(1), 0);
  EXPECT_EQ(masked(2), 3);
  EXPECT_EQ(total(), 3);
  EXPECT_TRUE(std::isnan(scaled(0)));
  EXPECT_TRUE(std::isnan(scaled(1)));
}

TEST(masks, a_selection_of_zero_is_one) {
  constexpr auto keep = tensor<"keep", bool, 1>;
  constexpr auto kept = define<"kept">(i) = select(keep(i), x(i), 0_c);
  const auto [product, ratio] =
      both(define<"product">(i) = select(keep(i), x(i), 0_c) * x(i),
           define<"ratio">(i) = select(keep(i), x(i), 0_c) / x(i))(x = list<float>({inf, 0, 3}),
                                                                   keep = list<bool>({0, 0, 1}));
  const array<float, 1> through = compile(define<"through">(i) = kept(i) * x(i))(x = list<float>({inf, 0, 3}),
                                                                                 keep = list<bool>({0, 0, 1}));
  for (int k = 0; k < 2; ++k) EXPECT_EQ(product(k), 0);
  EXPECT_EQ(ratio(0), 0);
  EXPECT_TRUE(std::isnan(ratio(1)));  // 0 / 0
  EXPECT_TRUE(through(0) == 0 || std::isnan(through(0)));
  EXPECT_EQ(product(2), 9);
  EXPECT_EQ(through(2), 9);
}

TEST(infinities, in_logsumexp) {
  const auto program = both(define<"l">() = logsumexp(i, x(i)));
  EXPECT_EQ(program(x = list<float>({-inf, -inf})), -inf);
  EXPECT_EQ(program(x = list<float>({1, inf})), inf);
  EXPECT_EQ(program(x = list<float>({-inf, 2})), 2);
  EXPECT_TRUE(std::isnan(program(x = list<float>({inf, nan}))()));
  EXPECT_NEAR(program(x = list<float>({1000, 1000}))(), 1000 + std::log(2.0), 1e-4);
  EXPECT_NEAR(program(x = list<float>({-1000, -1001}))(), -1000 + std::log1p(std::exp(-1.0)), 1e-4);
}

TEST(floats, divide_by_zero_and_overflow_as_ieee) {
  const auto [reciprocal, rooted, logarithm, grown] =
      both(define<"reciprocal">(i) = 1_c / x(i), define<"rooted">(i) = rsqrt(x(i)), define<"logarithm">(i) = log(x(i)),
           define<"grown">(i) = exp(x(i) * 1000_c))(x = list<float>({0.0, -0.0, -1, 1}));
  EXPECT_EQ(reciprocal(0), inf);
  EXPECT_EQ(reciprocal(1), -inf);
  EXPECT_EQ(rooted(0), inf);
  EXPECT_EQ(logarithm(0), -inf);
  EXPECT_TRUE(std::isnan(logarithm(2)));
  EXPECT_EQ(grown(3), inf);
  EXPECT_EQ(grown(2), 0);
}

// What fmod leaves, plus the divisor where the signs differ, and the whole number that goes with it: PyTorch's
// remainder and floor_divide, also where a / b is rounded up to a whole number, or is too large to be one.
template <class T>
void check_remainders() {
  constexpr auto a = tensor<"a", T, 1>;
  constexpr auto b = tensor<"b", T, 1>;
  const double infinite = inf;
  const std::vector<double> left{1,     5,      -5,   5,     -5,       1,   0, 6, -6, 5.5,
                                 60000, -60000, 3e-5, -3e-5, infinite, nan, 2, 3, 7,  -0.0};
  const std::vector<double> right{0.1,    infinite, infinite, -infinite, -infinite, 0, 0,   -3,  3,   -2,
                                  0.0007, 0.0007,   7,        7,         2,         2, nan, 0.3, 0.7, 3};
  array<T, 1> x(20), y(20);
  for (int k = 0; k < 20; ++k) {
    x(k) = value_of<T>(left[static_cast<std::size_t>(k)]);
    y(k) = value_of<T>(right[static_cast<std::size_t>(k)]);
  }
  const auto [rest, whole] =
      both(define<"rest">(i) = a(i) % b(i), define<"whole">(i) = quotient(a(i), b(i)))(a = x, b = y);
  for (int k = 0; k < 20; ++k) {
    const double n = number_of(x(k)), d = number_of(y(k)), left_over = std::fmod(n, d);
    const bool adds = left_over != 0 && std::signbit(left_over) != std::signbit(d);
    const T expected = value_of<T>(adds ? left_over + d : left_over);
    EXPECT_TRUE(agree(rest(k), expected, 0)) << n << " % " << d << ": " << number_of(rest(k));
    const double exact = d == 0 ? n / d : (n - left_over) / d - (adds ? 1 : 0);
    const bool no_number = std::isinf(n) || std::isnan(n) || std::isnan(d);
    if (!no_number) {
      EXPECT_TRUE(agree(whole(k), value_of<T>(std::isinf(d) ? (adds ? -1 : 0) : std::round(exact)), 1))
          << n << ", " << d;
    } else {
      EXPECT_TRUE(std::isnan(number_of(whole(k)))) << n << ", " << d;
    }
  }
}
TEST(floats, remainders_and_whole_quotients) {
  check_remainders<double>();
  check_remainders<float>();
  check_remainders<float16>();
  constexpr auto folded = constant<1.0> % constant<0.1>;
  EXPECT_EQ(both(define<"r">(i) = cast<double>(folded) + cast<double>(x(i)) * 0_c)(x = list<float>({1}))(0),
            std::fmod(1.0, 0.1));
}

// PyTorch's numbers, but for those named in semantics.md: where an extremum is NaN no element has a part of its
// derivative.
TEST(infinities, in_derivatives_of_products_and_extrema) {
  constexpr auto j = axis<"j">;
  constexpr auto z = tensor<"z", double, 2>;
  const double e = inf, u = nan;
  const array<double, 2> at = filled(array<double, 2>(7, 4), {u, 1, 2,      3, e, 1, 2, 3, -e, e, 1, 0, 0, 0,
                                                              1, u, 5e-324, 1, 2, 3, u, 0, 2,  3, 1, u, u, 3});
  const auto [product, even, first, last] =
      both(grad(define<"y">() = sum(i, prod(j, z(i, j))), z), grad(define<"most">() = sum(i, max(j, z(i, j))), z),
           grad(define<"first_most">() = sum(i, max<ties::first>(j, z(i, j))), z),
           grad(define<"last_least">() = sum(i, min<ties::last>(j, z(i, j))), z))(z = at);
  const double products[7][4] = {{u, u, u, u}, {u, e, e, e}, {u, u, u, -e}, {0, 0, 0, 0}, {6, 1.5e-323, 5e-324, 5e-324},
                                 {u, u, u, u}, {u, u, u, u}};
  const double evens[7][4] = {{0, 0, 0, 0}, {1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 0, 0},
                              {0, 0, 0, 1}, {0, 0, 0, 0}, {0, 0, 0, 0}};
  const int firsts[7] = {0, 0, 1, 3, 3, 0, 1}, lasts[7] = {0, 1, 0, 3, 0, 0, 2};
  for (int r = 0; r < 7; ++r)
    for (int k = 0; k < 4; ++k) {
      if (r != 4 || k == 0) {
        EXPECT_TRUE(agree(product(r, k), products[r][k], 0)) << r << ", " << k << ": " << product(r, k);
      }
      EXPECT_EQ(even(r, k), evens[r][k]) << r << ", " << k;
      EXPECT_EQ(first(r, k), k == firsts[r]) << r << ", " << k;
      EXPECT_EQ(last(r, k), k == lasts[r]) << r << ", " << k;
    }
}

// The derivative along any direction is 0 where nothing is folded, also of a mean, which is NaN there.
TEST(nothing_to_fold, has_no_derivative_along_a_direction) {
  constexpr auto m = axis<"m">;
  constexpr auto t = axis<"t">;
  constexpr auto v = tensor<"v", float, 1>;
  constexpr auto cut = tensor<"cut", std::int64_t, 2>;
  constexpr auto slice = t.in(cut(m, 0_c), cut(m, 1_c));
  constexpr auto y = define<"y">(m) = mean(slice, x(t));
  constexpr auto size = define<"size">(m) = sqrt(sum(slice, x(t) * x(t)));
  const auto [average, along, of_size] = both(y, jvp(y, x, v), jvp(size, x, v))(
      x = list<float>({3, 4}), v = list<float>({1, 2}), cut = filled(array<std::int64_t, 2>(2, 2), {0, 2, 1, 1}));
  EXPECT_EQ(along(0), 1.5f);
  EXPECT_TRUE(std::isnan(average(1)));
  EXPECT_EQ(along(1), 0);
  EXPECT_NEAR(of_size(0), 2.2, 1e-6);
  EXPECT_EQ(of_size(1), 0);
}

// Only the chosen branch is evaluated, so a guard protects the load behind it.
TEST(select, protects_what_it_does_not_choose) {
  constexpr auto pick = tensor<"pick", std::int64_t, 1>;
  const auto found = both(define<"y">(i) = select(pick(i) < 3_c && pick(i) >= 0_c, x(pick(i)), -1_c))(
      x = list<float>({5, 6, 7}), pick = list<std::int64_t>({2, 3, 1000000000000, -5, 0}));
  const float expected[] = {7, -1, -1, -1, 5};
  for (int k = 0; k < 5; ++k) EXPECT_EQ(found(k), expected[k]);
}

TEST(stop_gradient, has_the_value_of_its_expression) {
  const auto found = both(define<"y">(i) = stop_gradient(x(i)) + x(i))(x = list<float>({1, 2}));
  EXPECT_EQ(found(1), 4);
}

}  // namespace
