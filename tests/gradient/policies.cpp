// Policies and their gradients where the familiar layer and data-dependent domains meet them: ties in slices, windows,
// segments and gathered rows, by both modes; what nothing is worth; subscripts outside, as an error of the gradient
// alone too.
#include <support/both.hpp>

namespace {
using namespace sheaf;
using namespace sheaf::test;

constexpr auto i = axis<"i">;
constexpr auto k = axis<"k">;
constexpr auto u = axis<"u">;
constexpr auto m = axis<"m">;
constexpr auto x = tensor<"x", double, 1>;
constexpr auto grid = tensor<"grid", double, 2>;
constexpr auto v = tensor<"v", double, 1>;
constexpr auto cut = tensor<"cut", std::int64_t, 2>;
constexpr auto ids = tensor<"ids", std::int64_t, 1>;
constexpr auto pick = tensor<"pick", std::int64_t, 1>;
constexpr auto c = tensor<"c", double, 1>;
using list_of = std::vector<double>;

template <class T, int Rank>
list_of numbers(const array<T, Rank>& a) {
  list_of out;
  for (const T e : a) out.push_back(number_of(e));
  return out;
}

// 5 5 1 5: one each of even, first and last, of the largest and of the smallest negated, forward and reverse.
TEST(policies_of_gradients, ties_by_both_modes) {
  const array<double, 1> values = list<double>({5, 5, 1, 5}), along = list<double>({3, 30, 300, 3000});
  const auto of = [&](auto y) {
    const auto [dx, dy] = both(grad(y, x), jvp(y, x, v))(x = values, v = along);
    list_of out = numbers(dx);
    out.push_back(dy());
    return out;
  };
  EXPECT_EQ(of(max<ties::even>(i, x(i)) * 3_c), (list_of{1, 1, 0, 1, 3033}));
  EXPECT_EQ(of(max<ties::first>(i, x(i))), (list_of{1, 0, 0, 0, 3}));
  EXPECT_EQ(of(max<ties::last>(i, x(i))), (list_of{0, 0, 0, 1, 3000}));
  EXPECT_EQ(of(min<ties::even>(i, -x(i)) * 3_c), (list_of{-1, -1, 0, -1, -3033}));
  EXPECT_EQ(of(min<ties::first>(i, -x(i))), (list_of{-1, 0, 0, 0, -3}));
  EXPECT_EQ(of(min<ties::last>(i, -x(i))), (list_of{0, 0, 0, -1, -3000}));
}
// Windows of three over 2 2 2 0 2.
TEST(policies_of_gradients, ties_in_windows) {
  const auto of = [](auto y) {
    return numbers(both(vjp(y, x, c))(x = list<double>({2, 2, 2, 0, 2}), c = list<double>({6, 60, 600})));
  };
  constexpr auto places = m.in(0_c, extent(x, dim<0>) - 2_c);
  EXPECT_EQ(of(define<"y">(places) = max<ties::even>(u.in(0_c, 3_c), x(m + u))), (list_of{2, 32, 332, 0, 300}));
  EXPECT_EQ(of(define<"y">(places) = max<ties::first>(u.in(0_c, 3_c), x(m + u))), (list_of{6, 60, 600, 0, 0}));
  EXPECT_EQ(of(define<"y">(places) = max<ties::last>(u.in(0_c, 3_c), x(m + u))), (list_of{0, 0, 66, 0, 600}));
}
TEST(policies_of_gradients, ties_in_segments_and_slices) {
  const array<std::int64_t, 1> groups = list<std::int64_t>({1, 0, 1, 1, 0});
  const array<std::int64_t, 2> slices = filled(array<std::int64_t, 2>(2, 2), {0, 3, 2, 5});
  const array<double, 1> values = list<double>({4, 7, 4, 4, 7}), weights = list<double>({10, 3});
  const auto by_ids = [&](auto y) { return numbers(both(vjp(y, x, c))(x = values, ids = groups, c = weights)); };
  const auto by_cut = [&](auto y) { return numbers(both(vjp(y, x, c))(x = values, cut = slices, c = weights)); };
  constexpr auto two = m.in(0_c, 2_c);
  EXPECT_EQ(by_ids(define<"y">(two) = max<ties::even>(i.where(ids(i) == m), x(i))), (list_of{1, 5, 1, 1, 5}));
  EXPECT_EQ(by_ids(define<"y">(two) = max<ties::first>(i.where(ids(i) == m), x(i))), (list_of{3, 10, 0, 0, 0}));
  EXPECT_EQ(by_ids(define<"y">(two) = min<ties::last>(i.where(ids(i) == m), x(i))), (list_of{0, 0, 0, 3, 10}));
  constexpr auto slice_of = i.in(cut(m, 0_c), cut(m, 1_c));
  EXPECT_EQ(by_cut(define<"y">(m) = min<ties::even>(slice_of, x(i))), (list_of{5, 0, 6.5, 1.5, 0}));
  EXPECT_EQ(by_cut(define<"y">(m) = min<ties::first>(slice_of, x(i))), (list_of{10, 0, 3, 0, 0}));
  EXPECT_EQ(by_cut(define<"y">(m) = min<ties::last>(slice_of, x(i))), (list_of{0, 0, 10, 3, 0}));
}
// An element that is gathered twice ties with itself: it has its share twice, or once whole.
TEST(policies_of_gradients, ties_of_gathered_rows) {
  const array<std::int64_t, 1> chosen = list<std::int64_t>({2, 0, 2, 1});
  const auto of = [&](auto y) { return numbers(both(grad(y, x))(x = list<double>({9, 1, 9, 20}), pick = chosen)); };
  EXPECT_EQ(of(max<ties::even>(k, x(pick(k))) * 3_c), (list_of{1, 0, 2, 0}));
  EXPECT_EQ(of(max<ties::first>(k, x(pick(k)))), (list_of{0, 0, 1, 0}));
  EXPECT_EQ(of(max<ties::last>(k, x(pick(k)))), (list_of{0, 0, 1, 0}));
}
TEST(policies_of_gradients, ties_of_the_familiar_layer) {
  const auto of = [](auto y) {
    return numbers(
        both(vjp(y, grid, c))(grid = filled(array<double, 2>(2, 3), {3, 3, 1, 2, 8, 8}), c = list<double>({2, 20})));
  };
  EXPECT_EQ(of(max(grid, dim<1>)), (list_of{1, 1, 0, 0, 10, 10}));
  EXPECT_EQ(of(max<ties::first>(grid, dim<1>)), (list_of{2, 0, 0, 0, 20, 0}));
  EXPECT_EQ(of(max<ties::last>(grid, dim<1>)), (list_of{0, 2, 0, 0, 0, 20}));
}

// The first slice has nothing: what it is worth has no derivative, whatever it is, forward and reverse.
TEST(policies_of_gradients, nothing_to_fold) {
  const array<std::int64_t, 2> slices = filled(array<std::int64_t, 2>(2, 2), {2, 2, 0, 2});
  const array<double, 1> values = list<double>({2, 3, 5}), along = list<double>({1, 10, 100}),
                         weights = list<double>({7, 1});
  const auto of = [&](auto e) {
    constexpr auto y = define<"y">(m) = decltype(e){};
    const auto [worth, dx, dy] = both(y, vjp(y, x, c), jvp(y, x, v))(x = values, cut = slices, c = weights, v = along);
    list_of out = numbers(dx);
    out.insert(out.end(), {dy(0), dy(1), worth(0)});
    return out;
  };
  constexpr auto in = i.in(cut(m, 0_c), cut(m, 1_c));
  constexpr double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(of(sum<empty::identity>(in, x(i))), (list_of{1, 1, 0, 0, 11, 0}));
  EXPECT_EQ(of(sum<empty::value<9>>(in, x(i))), (list_of{1, 1, 0, 0, 11, 9}));
  EXPECT_EQ(of(prod<empty::identity>(in, x(i))), (list_of{3, 2, 0, 0, 23, 1}));
  EXPECT_EQ(of(prod<empty::zero>(in, x(i))), (list_of{3, 2, 0, 0, 23, 0}));
  EXPECT_EQ(of(mean<empty::value<-1>>(in, x(i))), (list_of{0.5, 0.5, 0, 0, 5.5, -1}));
  EXPECT_EQ(of(max<empty::identity>(in, x(i))), (list_of{0, 1, 0, 0, 10, -inf}));
  EXPECT_EQ(of(max<empty::value<4>>(in, x(i))), (list_of{0, 1, 0, 0, 10, 4}));
  EXPECT_EQ(of(min<empty::identity>(in, x(i))), (list_of{1, 0, 0, 0, 1, inf}));
  EXPECT_EQ(of(min<empty::zero, ties::first>(in, x(i))), (list_of{1, 0, 0, 0, 1, 0}));
}
TEST(policies_of_gradients, nothing_to_fold_is_not_a_number) {
  const array<std::int64_t, 2> slices = filled(array<std::int64_t, 2>(2, 2), {2, 2, 0, 2});
  constexpr auto in = i.in(cut(m, 0_c), cut(m, 1_c));
  constexpr auto y = define<"y">(m) =
      sum<empty::nan>(in, x(i)) + max<empty::nan>(in, x(i)) + prod<empty::nan>(in, x(i));
  const auto [worth, dx, dy] = both(y, vjp(y, x, c), jvp(y, x, v))(
      x = list<double>({2, 3, 5}), cut = slices, c = list<double>({7, 1}), v = list<double>({1, 10, 100}));
  EXPECT_TRUE(std::isnan(worth(0)));
  EXPECT_EQ(worth(1), 5 + 3 + 6);
  EXPECT_EQ(numbers(dx), (list_of{1 + 3, 1 + 1 + 2, 0}));
  EXPECT_EQ(dy(0), 0);
  EXPECT_EQ(dy(1), 11 + 10 + 23);
}
// logsumexp over nothing is -inf; its derivative is 0 in both modes, and exp of it is 0 with derivative 0.
TEST(policies_of_gradients, logsumexp_of_nothing) {
  const array<std::int64_t, 2> slices = filled(array<std::int64_t, 2>(2, 2), {2, 2, 0, 2});
  constexpr auto y = define<"y">(m) = exp(logsumexp(i.in(cut(m, 0_c), cut(m, 1_c)), x(i)));
  const auto [worth, dx, dy] = both(y, vjp(y, x, c), jvp(y, x, v))(
      x = list<double>({0, 0, 0}), cut = slices, c = list<double>({7, 1}), v = list<double>({1, 10, 100}));
  EXPECT_EQ(numbers(worth), (list_of{0, 2}));
  EXPECT_EQ(numbers(dx), (list_of{1, 1, 0}));
  EXPECT_EQ(numbers(dy), (list_of{0, 11}));
}

// 9 and -1 are outside of four elements: an error, left out, or moved; where only the derivative is asked for too.
TEST(policies_of_gradients, out_of_range) {
  const array<std::int64_t, 1> chosen = list<std::int64_t>({1, 9, -1, 1});
  const array<double, 1> values = list<double>({2, 3, 5, 7}), along = list<double>({1, 10, 100, 1000});
  const auto of = [&](auto y) {
    const auto [dx, dy] = both(grad(y, x), jvp(y, x, v))(x = values, pick = chosen, v = along);
    list_of out = numbers(dx);
    out.push_back(dy());
    return out;
  };
  EXPECT_EQ(of(sum(k, x.skipping(pick(k)))), (list_of{0, 2, 0, 0, 20}));
  EXPECT_EQ(of(mean(k, x.skipping(pick(k)))), (list_of{0, 1, 0, 0, 10}));
  EXPECT_EQ(of(max<ties::first>(k, x.skipping(pick(k)))), (list_of{0, 1, 0, 0, 10}));
  EXPECT_EQ(of(sum(k, x.clamped(pick(k)))), (list_of{1, 2, 0, 1, 1021}));
  EXPECT_EQ(of(sum(k, x.wrapped(pick(k)))), (list_of{0, 3, 0, 1, 1030}));
  EXPECT_EQ(of(sum(k, x.padded(100_c)(pick(k)))), (list_of{0, 2, 0, 0, 20}));
  const auto wrong = both(grad(sum(k, x(pick(k)) * 2_c), x));
  const auto sentence = [&](const auto& program) { return sentence_of([&] { program(x = values, pick = chosen); }); };
  const std::string expected = "expected a subscript from 0 to 3, found 9";
  EXPECT_NE(sentence(wrong.kernels()).find(expected), std::string::npos) << sentence(wrong.kernels());
  EXPECT_NE(sentence(wrong.slow()).find(expected), std::string::npos) << sentence(wrong.slow());
}

}  // namespace
