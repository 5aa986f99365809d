// Extremes with the positions they stand at: against plain loops, ties and NaN as in PyTorch, gradients.
#include <support/familiar.hpp>

namespace {
using namespace sheaf;
using namespace sheaf::test;

constexpr auto x = tensor<"x", double, 2>;
constexpr auto v = tensor<"v", double, 1>;
constexpr auto image = tensor<"image", double, 4>;
const array<double, 2> rows = noise_array<double>(-2, 2, 5, 7);
const array<double, 4> pixels = noise_array<double>(-2, 2, 1, 2, 7, 6);
const double nan = std::numeric_limits<double>::quiet_NaN();

template <class T, int Rank>
std::vector<double> numbers(const array<T, Rank>& a) {
  return {a.begin(), a.end()};
}
using list_of = std::vector<double>;

TEST(with_indices, along_a_dimension) {
  const auto [top, place] = both(max_with_indices(x, dim<1>))(x = rows);
  const auto [low, where] = both(min_with_indices<keepdim>(x, dim<0>))(x = rows);
  for (int r = 0; r < 5; ++r) {
    int best = 0;
    for (int c = 1; c < 7; ++c) best = rows(r, c) > rows(r, best) ? c : best;
    EXPECT_EQ(place(r), best);
    EXPECT_EQ(top(r), rows(r, best));
  }
  ASSERT_EQ(low.extent(0), 1);
  for (int c = 0; c < 7; ++c) {
    int best = 0;
    for (int r = 1; r < 5; ++r) best = rows(r, c) < rows(best, c) ? r : best;
    EXPECT_EQ(where(0, c), best);
    EXPECT_EQ(low(0, c), rows(best, c));
  }
}
TEST(with_indices, are_two_definitions) {
  const auto [top, place] = max_with_indices(x, dim<1>);
  const auto [t, p, d] = both(top, place, grad(sum(top), x))(x = rows);
  for (int r = 0; r < 5; ++r)
    for (int c = 0; c < 7; ++c) EXPECT_EQ(d(r, c), c == p(r) ? 1 : 0);
  EXPECT_EQ(t(0), rows(0, p(0)));
}
// The derivative of equals goes to the first, where the index is.
TEST(with_indices, ties_and_nan) {
  const auto of = max_with_indices(v, dim<0>);
  const auto call = both(of.values, of.indices, grad(of.values, v));
  const auto [a, b, c] = call(v = list<double>({1, 5, 2, 5, 5}));
  EXPECT_EQ(a, 5.0);
  EXPECT_EQ(b, 1);
  EXPECT_EQ(numbers(c), (list_of{0, 1, 0, 0, 0}));
  const auto [d, e, f] = call(v = list<double>({1, nan, 7, nan, 5}));
  EXPECT_TRUE(std::isnan(double(d)));
  EXPECT_EQ(e, 1);
  EXPECT_EQ(numbers(f), (list_of{0, 1, 0, 0, 0}));
}
// Of several axes their place in row-major order, the first or the last of equals; NaN is beyond every number.
TEST(arg_extrema, over_several_axes) {
  constexpr auto i = axis<"i">;
  constexpr auto j = axis<"j">;
  const auto call = both(argmax(over(i, j), x(i, j)), argmax<ties::last>(over(i, j), x(i, j)),
                         argmin(over(i, j), x(i, j)), define<"row">(i) = argmax<ties::last>(j, x(i, j)),
                         argmax(over(i, j.where(x(i, j) < 2_c)), x(i, j)),
                         argmax<ties::last>(over(i, j.where(x(i, j) > 9_c)), x(i, j)));
  array<double, 2> a(2, 3);
  const double given[] = {1, 7, 2, 7, 0, 7};
  std::copy(given, given + 6, a.begin());
  const auto [first, last, least, row, small, nothing] = call(x = a);
  EXPECT_EQ(first, 1);
  EXPECT_EQ(last, 5);
  EXPECT_EQ(least, 4);
  EXPECT_EQ(row(0), 1);
  EXPECT_EQ(row(1), 2);
  EXPECT_EQ(small, 0);
  EXPECT_EQ(nothing, -1);
  a(0, 2) = nan;
  a(1, 1) = nan;
  const auto [top, end, low, rows_of, b, c] = call(x = a);
  EXPECT_EQ(top, 2);
  EXPECT_EQ(end, 4);
  EXPECT_EQ(low, 2);
  EXPECT_EQ(rows_of(0), 2);
}
// One pass over the rows finds both.
TEST(with_indices, share_a_kernel) {
  const auto program = compile(max_with_indices(x, dim<1>));
  const std::string plan = program.explain(x = rows);
  const auto count = [&](const char* word) {
    int n = 0;
    for (std::size_t at = plan.find(word); at != std::string::npos; at = plan.find(word, at + 1)) ++n;
    return n;
  };
  EXPECT_EQ(count("\nkernel ") + (plan.substr(0, 7) == "kernel " ? 1 : 0), 1) << plan;
}

// PyTorch's cummax and cummin: of equals the latest; NaN stays, and each NaN takes the index.
TEST(cumulative_with_indices, forward_and_reversed) {
  const auto of = [](auto pair, const array<double, 1>& values) {
    const auto [a, b] = both(pair)(v = values);
    return std::pair(numbers(a), numbers(b));
  };
  const auto values = list<double>({1, 3, 3, 2, 3, 4, 0, 4});
  EXPECT_EQ(of(cummax_with_indices(v, dim<0>), values),
            std::pair(list_of({1, 3, 3, 3, 3, 4, 4, 4}), list_of({0, 1, 2, 2, 4, 5, 5, 7})));
  EXPECT_EQ(of(cummin_with_indices(v, dim<0>), values),
            std::pair(list_of({1, 1, 1, 1, 1, 1, 0, 0}), list_of({0, 0, 0, 0, 0, 0, 6, 6})));
  EXPECT_EQ(of(cummax_with_indices<reversed>(v, dim<0>), values),
            std::pair(list_of({4, 4, 4, 4, 4, 4, 4, 4}), list_of({5, 5, 5, 5, 5, 5, 7, 7})));
  EXPECT_EQ(of(cummin_with_indices<reversed>(v, dim<0>), values),
            std::pair(list_of({0, 0, 0, 0, 0, 0, 0, 4}), list_of({6, 6, 6, 6, 6, 6, 6, 7})));
  const auto [a, b] = both(cummax_with_indices(v, dim<0>))(v = list<double>({2, nan, 5, nan, 9}));
  EXPECT_EQ(a(0), 2);
  for (int k = 1; k < 5; ++k) EXPECT_TRUE(std::isnan(a(k)));
  EXPECT_EQ(numbers(b), (list_of{0, 1, 1, 3, 3}));
}
TEST(cumulative_with_indices, of_a_matrix_and_its_gradient) {
  const auto of = cummax_with_indices(x, dim<0>);
  const auto y = checked(of.values, x, rows);
  const auto place = both(of.indices)(x = rows);
  for (int c = 0; c < 7; ++c)
    for (int r = 0, best = 0; r < 5; ++r) {
      best = rows(r, c) >= rows(best, c) ? r : best;
      EXPECT_EQ(place(r, c), best);
      EXPECT_EQ(y(r, c), rows(best, c));
    }
  // Of equals, the latest so far: 1 takes its own, 2 takes its own and that of 3.
  const auto d = both(grad(sum(cummax_with_indices(v, dim<0>).values), v))(v = list<double>({1, 3, 3, 2}));
  EXPECT_EQ(numbers(d), (list_of{1, 1, 2, 0}));
}
TEST(cumulative_with_indices, of_a_long_axis) {
  const array<double, 1> values = noise_array<double>(-1, 1, 100000);
  const auto [a, b] = compile(cummax_with_indices(v, dim<0>))(v = values);
  int best = 0;
  for (int k = 0; k < 100000; ++k) {
    best = values(k) >= values(best) ? k : best;
    ASSERT_EQ(b(k), best);
    ASSERT_EQ(a(k), values(best));
  }
}

// The flat position in its plane of the first largest of each window, as F.max_pool2d(return_indices=True).
template <class Pooled>
void expect_pool2d(const Pooled& pair, pool p, const array<double, 4>& from) {
  const auto [top, place] = both(pair)(image = from);
  const auto at = [](const std::int64_t(&list)[3], int k, std::int64_t otherwise) {
    return list[k] == 0 ? otherwise : list[k];
  };
  const std::int64_t h = from.extent(2), w = from.extent(3);
  for (std::int64_t c = 0; c < from.extent(1); ++c)
    for (std::int64_t i = 0; i < top.extent(2); ++i)
      for (std::int64_t j = 0; j < top.extent(3); ++j) {
        std::int64_t best = -1;
        for (std::int64_t u = 0; u < p.kernel[0]; ++u)
          for (std::int64_t q = 0; q < p.kernel[1]; ++q) {
            const std::int64_t r = i * at(p.stride, 0, p.kernel[0]) - p.padding[0] + u * at(p.dilation, 0, 1);
            const std::int64_t s = j * at(p.stride, 1, p.kernel[1]) - p.padding[1] + q * at(p.dilation, 1, 1);
            if (r < 0 || r >= h || s < 0 || s >= w) continue;
            if (best < 0 || from(0, c, r, s) > from(0, c, best / w, best % w)) best = r * w + s;
          }
        EXPECT_EQ(place(0, c, i, j), best);
        EXPECT_EQ(top(0, c, i, j), from(0, c, best / w, best % w));
      }
}
TEST(max_pool_with_indices, of_planes) {
  constexpr pool plain{.kernel = {2, 2}}, padded{.kernel = {3, 2}, .stride = {2, 1}, .padding = {1, 1}},
      spread{.kernel = {2, 3}, .stride = {1, 1}, .dilation = {2, 2}}, ceiled{.kernel = {3, 4}, .ceil_mode = true};
  expect_pool2d(max_pool2d_with_indices<plain>(image), plain, pixels);
  expect_pool2d(max_pool2d_with_indices<padded>(image), padded, pixels);
  expect_pool2d(max_pool2d_with_indices<spread>(image), spread, pixels);
  expect_pool2d(max_pool2d_with_indices<ceiled>(image), ceiled, pixels);
  array<double, 4> flat(1, 2, 7, 6);
  flat.fill(3);
  expect_pool2d(max_pool2d_with_indices<padded>(image), padded, flat);  // ties: the first
}
TEST(max_pool_with_indices, of_lines_and_volumes) {
  const auto [a, b] = both(max_pool1d_with_indices<pool{.kernel = {3}}>(v))(v = list<double>({4, 9, 1, 2, 2, 8, 7}));
  EXPECT_EQ(numbers(a), (list_of{9, 8}));
  EXPECT_EQ(numbers(b), (list_of{1, 5}));
  constexpr auto volume = tensor<"volume", double, 3>;
  const array<double, 3> cube = filled(array<double, 3>(2, 2, 2), {1, 2, 3, 4, 5, 8, 7, 6});
  const auto [c, d] = both(max_pool3d_with_indices<pool{.kernel = {2, 2, 2}}>(volume))(volume = cube);
  EXPECT_EQ(c(0, 0, 0), 8);
  EXPECT_EQ(d(0, 0, 0), 5);
}
TEST(max_pool_with_indices, gradient_goes_to_the_index) {
  constexpr pool padded{.kernel = {3, 2}, .stride = {2, 1}, .padding = {1, 1}};
  checked(max_pool2d_with_indices<padded>(image).values, image, pixels);
  const auto of = max_pool1d_with_indices<pool{.kernel = {3}}>(v);
  EXPECT_EQ(numbers(both(grad(sum(of.values), v))(v = list<double>({4, 9, 9, 8, 8, 8}))), (list_of{0, 1, 0, 1, 0, 0}));
}

}  // namespace
