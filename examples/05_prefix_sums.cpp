// How do I get the means of very many slices from one running sum, without losing digits?
// The sum up to each row, one subtraction for each slice, a division by its length. In f32 such a difference of large
// numbers is worth nothing after millions of rows; in f64 it is exact enough. The direct form leaves the choice to the
// planner. (Catalogue: A5)
#include <sheaf/sheaf.hpp>
#include <support/check.hpp>

using namespace sheaf;

constexpr auto m = axis<"m">;
constexpr auto t = axis<"t">;
constexpr auto f = axis<"f">;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto cut = tensor<"cut", std::int64_t, 2>;

constexpr auto pooled = define<"pooled">(m, f) = mean(t.in(cut(m, 0_c), cut(m, 1_c)), x(t, f));

// Row t holds the sum of the rows up to and with t, in f64; before the first there is 0.
constexpr auto exact = tensor<"exact", double, 2>;
constexpr auto total = cumsum(exact, dim<0>);
template <class Row>
constexpr auto before(Row row) {
  return select(row > 0_c, total(row - 1_c, f), 0_c);
}
constexpr auto by_sums = define<"by_sums">(m, f) =
    (before(cut(m, 1_c)) - before(cut(m, 0_c))) / (cut(m, 1_c) - cut(m, 0_c));

int main() {
  const auto rows = support::counting(array<float, 2>(10, 4));
  const std::int64_t slices[4][2] = {{3, 5}, {1, 8}, {4, 8}, {6, 9}};
  const auto exact_rows = support::counting(array<double, 2>(10, 4));
  array<float, 2> ones(4, 4);
  ones.fill(1);
  array<double, 2> exact_ones(4, 4);
  exact_ones.fill(1);
  const auto [y, dy, p] =
      compile(pooled, vjp(pooled, x), by_sums)(x = rows, exact = exact_rows, cut = slices, cotangent(pooled) = ones);
  const auto dp = compile(vjp(by_sums, exact))(exact = exact_rows, cut = slices, cotangent(by_sums) = exact_ones);
  support::show("means from running sums:", p);
  support::expect("means", p, {14, 15, 16, 17, 16, 17, 18, 19, 22, 23, 24, 25, 28, 29, 30, 31});
  support::expect("row 4 of the gradient", std::fabs(dp(4, 0) - (1 / 2. + 1 / 7. + 1 / 4.)) < 1e-6);
  for (std::int64_t i = 0; i < dy.size(); ++i)
    support::expect("the same gradient", std::fabs(dp.data()[i] - static_cast<double>(dy.data()[i])) < 1e-6);

  // 4 million values in slices of 8: the direct form's relative error, beside that of a running sum in f32.
  constexpr std::int64_t n = 4'000'000, width = 8;
  array<float, 2> many(n, 1);
  array<std::int64_t, 2> pieces(n / width, 2);
  std::uint64_t state = 1;
  for (float& v : many) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    v = static_cast<float>(state >> 40) * 0x1p-24f;
  }
  for (std::int64_t i = 0; i < n / width; ++i) pieces(i, 0) = i * width, pieces(i, 1) = (i + 1) * width;
  const auto means = compile(pooled)(x = many, cut = pieces);
  double worst = 0, worst_f32 = 0;
  float running = 0;
  for (std::int64_t i = 0; i < n / width; ++i) {
    double sum_of_8 = 0;
    const float at_begin = running;
    for (std::int64_t j = 0; j < width; ++j) {
      const float v = many(i * width + j, 0);
      sum_of_8 += static_cast<double>(v) / width;
      running += v;
    }
    worst = std::fmax(worst, std::fabs(static_cast<double>(means(i, 0)) - sum_of_8) / sum_of_8);
    worst_f32 = std::fmax(worst_f32, std::fabs(static_cast<double>(running - at_begin) / width - sum_of_8) / sum_of_8);
  }
  std::printf("4 million values, slices of 8: relative error %s; of an f32 running sum %s\n",
              worst < 1e-6 ? "below 1e-6" : "ABOVE 1e-6", worst_f32 > 0.1 ? "above 1e-1" : "below 1e-1");
  support::expect("the relative error stays below 1e-6", worst < 1e-6);
}

/* Output:
means from running sums:
  14 15 16 17
  16 17 18 19
  22 23 24 25
  28 29 30 31
4 million values, slices of 8: relative error below 1e-6; of an f32 running sum above 1e-1
*/
