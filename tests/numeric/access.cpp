// Accesses outside a tensor: moved inside (clamped, reflected, wrapped), or left out of the reduction (skipping).
#include <support/both.hpp>

namespace {
using namespace sheaf;
using namespace sheaf::test;

constexpr auto i = axis<"i">;
constexpr auto k = axis<"k">;
constexpr auto u = axis<"u">;
constexpr auto p = axis<"p", 12>;
constexpr auto x = tensor<"x", double, 1>;
constexpr auto m = tensor<"m", double, 2>;
constexpr auto pick = tensor<"pick", std::int64_t, 1>;
constexpr auto w = tensor<"w", double, 1>;

array<double, 1> counting(std::int64_t n) {
  array<double, 1> out(n);
  for (std::int64_t a = 0; a < n; ++a) out(a) = static_cast<double>(a);
  return out;
}
template <int Rank>
std::vector<double> numbers(const array<double, Rank>& a) {
  return std::vector<double>(a.begin(), a.end());
}
using list_of = std::vector<double>;

// p - 4 runs from -4 to 7 over four elements.
TEST(access, clamped) {
  EXPECT_EQ(numbers(both(define<"y">(p) = x.clamped(p - 4_c))(x = counting(4))),
            (list_of{0, 0, 0, 0, 0, 1, 2, 3, 3, 3, 3, 3}));
}
TEST(access, reflected) {
  EXPECT_EQ(numbers(both(define<"y">(p) = x.reflected(p - 4_c))(x = counting(4))),
            (list_of{2, 3, 2, 1, 0, 1, 2, 3, 2, 1, 0, 1}));
}
TEST(access, wrapped) {
  EXPECT_EQ(numbers(both(define<"y">(p) = x.wrapped(p - 4_c))(x = counting(4))),
            (list_of{0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3}));
  const auto rolled = both(define<"rolled">(i) = x.wrapped(i - 1_c) + 0_c * x(i));
  EXPECT_EQ(numbers(rolled(x = counting(4))), (list_of{3, 0, 1, 2}));
}
TEST(access, of_one_element) {
  const auto y = both(define<"y">(p) = x.clamped(p - 4_c) + x.reflected(p - 4_c) + x.wrapped(p - 4_c));
  for (const double v : y(x = list<double>({2}))) EXPECT_EQ(v, 6);
}
// Of no element nothing can be read, and nothing need be where nothing is asked for.
TEST(access, of_no_element) {
  const auto refused = [](auto y) {
    EXPECT_THROW(compile(y)(x = counting(0)), error);
    EXPECT_THROW(reference(y)(x = counting(0)), error);
  };
  refused(define<"y">(p) = x.clamped(p - 4_c));
  refused(define<"y">(p) = x.reflected(p - 4_c));
  refused(define<"y">(p) = x.wrapped(p - 4_c));
  constexpr auto rolled = define<"rolled">(i.in(0_c, extent(x, dim<0>))) = x.wrapped(i - 1_c) + x.reflected(i + 2_c);
  EXPECT_EQ(both(rolled)(x = counting(0)).size(), 0);
  constexpr auto picked = define<"picked">(k) = x.wrapped(pick(k)) + x.reflected(pick(k));
  EXPECT_EQ(both(picked)(x = counting(0), pick = std::vector<std::int64_t>()).size(), 0);
  const std::vector<std::int64_t> one = {3};
  EXPECT_THROW(compile(picked)(x = counting(0), pick = one), error);
  EXPECT_THROW(reference(picked)(x = counting(0), pick = one), error);
}
// What is moved inside is inside: no pass over the subscripts asks.
TEST(access, moved_subscripts_are_not_checked_one_by_one) {
  constexpr auto moved =
      define<"moved">(i.in(0_c, extent(x, dim<0>))) = x.wrapped(i - 1_c) + x.reflected(i + 2_c) + x.clamped(i + 7_c);
  const std::string plan = compile(moved).explain(x = counting(1000));
  EXPECT_EQ(plan.find("check"), std::string::npos) << plan;
}

TEST(access, two_dimensions) {
  constexpr auto a = axis<"a", 4>;
  constexpr auto b = axis<"b", 5>;
  const auto y = both(define<"y">(a, b) = m.clamped(a - 1_c, b - 1_c));
  array<double, 2> grid(2, 3);
  for (int e = 0; e < 6; ++e) grid.data()[e] = e;
  EXPECT_EQ(numbers(y(m = grid)), (list_of{0, 0, 1, 2, 2, 0, 0, 1, 2, 2, 3, 3, 4, 5, 5, 3, 3, 4, 5, 5}));
}
TEST(access, moved_data) {
  const std::vector<std::int64_t> ids = {-100, 2, 100, -1};
  const auto [c, r, q] = both(define<"c">(k) = x.clamped(pick(k)), define<"r">(k) = x.reflected(pick(k)),
                              define<"q">(k) = x.wrapped(pick(k)))(x = counting(4), pick = ids);
  EXPECT_EQ(numbers(c), (list_of{0, 2, 3, 0}));
  EXPECT_EQ(numbers(r), (list_of{2, 2, 2, 1}));
  EXPECT_EQ(numbers(q), (list_of{0, 2, 0, 3}));
}

// The gradient of each is the number of times it is read, weighted.
TEST(access, gradients_of_moved_subscripts) {
  constexpr auto clamped = define<"clamped">() = sum(p, x.clamped(p - 4_c) * w(p));
  constexpr auto reflected = define<"reflected">() = sum(p, x.reflected(p - 4_c) * w(p));
  constexpr auto wrapped = define<"wrapped">() = sum(p, x.wrapped(p - 4_c) * w(p));
  const array<double, 1> weights = counting(12);
  const auto [a, b, c] = both(grad(clamped, x), grad(reflected, x), grad(wrapped, x))(x = counting(4), w = weights);
  EXPECT_EQ(numbers(a), (list_of{0 + 1 + 2 + 3 + 4, 5, 6, 7 + 8 + 9 + 10 + 11}));
  EXPECT_EQ(numbers(b), (list_of{4 + 10, 3 + 5 + 9 + 11, 0 + 2 + 6 + 8, 1 + 7}));
  EXPECT_EQ(numbers(c), (list_of{0 + 4 + 8, 1 + 5 + 9, 2 + 6 + 10, 3 + 7 + 11}));
}
TEST(access, gradients_of_moved_data) {
  const std::vector<std::int64_t> ids = {-100, 2, 100, -1};
  constexpr auto loss = define<"loss">() =
      sum(k, x.clamped(pick(k)) * w(k) + x.wrapped(pick(k)) * x.reflected(pick(k)));
  const auto dx = both(grad(loss, x))(x = counting(4), w = counting(4), pick = ids);
  EXPECT_EQ(numbers(dx), (list_of{0 + 3 + 2 + 2, 3, 1 + 4 + 0 + 0, 2 + 1}));
}

// A mean over a window counts only what is inside.
TEST(access, skipping_leaves_the_term_out) {
  constexpr auto pooled = define<"pooled">(i) = mean(u.in(0_c, 3_c), x.skipping(i + u - 1_c)) + 0_c * x(i);
  constexpr auto loss = define<"loss">() = sum(i, pooled(i) * w(i));
  const auto [y, dx] = both(pooled, grad(loss, x))(x = counting(4), w = list<double>({6, 12, 18, 24}));
  EXPECT_EQ(numbers(y), (list_of{0.5, 1, 2, 2.5}));
  EXPECT_EQ(numbers(dx), (list_of{3 + 4, 3 + 4 + 6, 4 + 6 + 12, 6 + 12}));
}
TEST(access, skipping_data) {
  const std::vector<std::int64_t> ids = {2, -7, 9, 3};
  const auto [a, b, c, d] =
      both(sum(k, x.skipping(pick(k))), max(k, x.skipping(pick(k)) - 9_c), argmax(k, x.skipping(pick(k))),
           count(k, x.skipping(pick(k)) >= 0_c))(x = counting(4), pick = ids);
  EXPECT_EQ(a, 5.0);
  EXPECT_EQ(b, -6.0);
  EXPECT_EQ(c, 3);
  EXPECT_EQ(d, 2);
  constexpr auto loss = define<"loss">() = sum(k, x.skipping(pick(k)) * w(k));
  EXPECT_EQ(numbers(both(grad(loss, x))(x = counting(4), pick = ids, w = counting(4))), (list_of{0, 0, 0, 3}));
}
// The inner reduction leaves its own out; the outer one those that only its index reaches. A subscript that is data
// may skip as well.
TEST(access, skipping_in_nested_reductions) {
  constexpr auto inner = define<"inner">() =
      sum(k, w.skipping(k + 2_c) * (1_c + sum(u.in(0_c, 4_c), x.skipping(u + k)))) + 0_c * sum(k, w(k));
  const auto [y] = std::tuple{both(sum(k.in(0_c, 9_c), w.skipping(k) * (1_c + sum(u.in(0_c, 4_c), x.skipping(u + k)))))(
      x = counting(3), w = counting(3))};
  EXPECT_EQ(y, 0.0 + 1 * (1 + 1 + 2) + 2 * (1 + 2));
  const std::vector<std::int64_t> ids = {1, 5, 0};
  EXPECT_EQ(both(sum(k.in(-1_c, 5_c), x.skipping(pick.skipping(k))))(x = counting(3), pick = ids), 1.0);
  (void)inner;
}
TEST(access, checked_is_the_default) {
  const auto y = both(sum(k, x.checked(pick(k))));
  const std::vector<std::int64_t> ids = {2, 4};
  EXPECT_NE(
      sentence_of([&] { y.kernels()(x = counting(4), pick = ids); }).find("expected a subscript from 0 to 3, found 4"),
      std::string::npos);
}

}  // namespace
