// The familiar layer and the language mixed in one expression, and second derivatives through it: kernels, reference,
// and finite differences of the first derivative.
#include <support/familiar.hpp>

namespace {
using namespace sheaf;
using namespace sheaf::test;

constexpr auto x = tensor<"x", double, 2>;
constexpr auto v = tensor<"v", double, 2>;
constexpr auto off = tensor<"off", std::int64_t, 1>;
constexpr auto picks = tensor<"picks", std::int64_t, 2>;
constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
const array<double, 2> rows = noise_array<double>(-1, 1, 8, 3);
const array<double, 2> other = noise_array<double>(-2, 1, 8, 3);
const auto ends = filled(array<std::int64_t, 1>(4), {0, 3, 4, 8});
const auto chosen = filled(array<std::int64_t, 2>(2, 4), {1, 5, 5, 0, 7, 2, 0, 3});

TEST(familiar_mixed, logsumexp_of_gathered_rows_by_segment) {
  constexpr auto ids = tensor<"ids", std::int64_t, 1>;
  constexpr auto gathered = index_select(x, ids, dim<0>);
  const auto order = filled(array<std::int64_t, 1>(8), {7, 7, 0, 1, 2, 5, 3, 3});
  expect_each(checked(segment_logsumexp(gathered, offsets(off)), x, rows, ids = order, off = ends), {3, 3},
              [&](auto at) {
                double s = 0;
                for (auto t = ends(at[0]); t < ends(at[0] + 1); ++t) s += std::exp(rows(order(t), at[1]));
                return std::log(s);
              });
}
// One loop has the exponentials of a row in its lanes, the other takes one of them at a time.
TEST(familiar_mixed, softmax_beside_a_sum_weighted_by_its_exponentials) {
  constexpr auto row = axis<"row">;
  constexpr auto t = axis<"t">;
  constexpr auto c = axis<"c">;
  constexpr auto scores = tensor<"scores", float, 2>;
  constexpr auto values = tensor<"values", float, 2>;
  constexpr auto share = define<"share">(row, t) = exp(scores(row, t)) / sum(t, exp(scores(row, t)));
  constexpr auto mixed = define<"mixed">(row, c) = sum(t, exp(scores(row, t)) * values(t, c));
  both(share, mixed)(scores = noise_array<float>(-1, 1, 70, 40), values = noise_array<float>(0.5, 1, 40, 24));
}

TEST(familiar_mixed, softmax_of_a_pooled_window) {
  constexpr auto pooled = avg_pool1d<pool{.kernel = {2}, .stride = {1}, .padding = {1}}>(x);
  expect_each(checked(softmax(pooled, dim<-1>), x, rows), {8, 4}, [](auto at) {
    const auto mean = [&](std::int64_t o) {
      return ((o > 0 ? rows(at[0], o - 1) : 0) + (o < 3 ? rows(at[0], o) : 0)) / 2;
    };
    double s = 0;
    for (int o = 0; o < 4; ++o) s += std::exp(mean(o));
    return std::exp(mean(at[1])) / s;
  });
}
TEST(familiar_mixed, logsumexp_over_an_embedding_bag_of_normalised_rows) {
  constexpr auto bags = embedding_bag<bag{.mode = bag_mode::sum}>(picks, layer_norm(x));
  checked(logsumexp(bags, dim<1>), x, rows, picks = chosen);
}
TEST(familiar_mixed, argmax_of_windows_reads_the_maximum) {
  constexpr auto windows = unfold<3>(x, dim<0>);
  constexpr auto best = argmax(windows, dim<-1>);
  constexpr auto y = define<"y">(i, j) = x(i + best(i, j), j);
  const auto [read, most] = both(y, max(windows, dim<-1>))(x = rows);
  EXPECT_TRUE(same_bits(read, most));
}

// The gradient of the scalar sum(y * y) along v is differentiated again.
template <class Y, class... B>
void expect_second_derivative(Y y, B... given) {
  constexpr auto loss = norm<2>(Y{});
  constexpr auto slope = define<"slope">() = sum(over(i, j), grad(loss, x)(i, j) * v(i, j));
  (void)y;
  checked(slope, x, rows, v = other, given...);
}
TEST(familiar_mixed, second_derivatives) {
  expect_second_derivative(softmax(x, dim<1>));
  expect_second_derivative(layer_norm(x));
  expect_second_derivative(segment_logsumexp(x, offsets(off)), off = ends);
  expect_second_derivative(embedding_bag(picks, x), picks = chosen);
  expect_second_derivative(slice(x, range<none, none, -2>, range<1>));
}

}  // namespace
