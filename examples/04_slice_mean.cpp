// How do I take the mean of slices whose bounds are in another tensor, with the gradient only into the slices?
// The bounds of an index may be data. Elements that no slice reads get a gradient of exactly 0. (Catalogue: A4)
#include <sheaf/sheaf.hpp>
#include <support/check.hpp>

using namespace sheaf;

constexpr auto m = axis<"m">;
constexpr auto t = axis<"t">;
constexpr auto f = axis<"f">;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto cut = tensor<"cut", std::int64_t, 2>;

constexpr auto pooled = define<"pooled">(m, f) = mean(t.in(cut(m, 0_c), cut(m, 1_c)), x(t, f));

int main() {
  const auto rows = support::counting(array<float, 2>(10, 4));
  const std::int64_t slices[4][2] = {{3, 5}, {1, 8}, {4, 8}, {6, 9}};
  array<float, 2> ones(4, 4);
  ones.fill(1);

  const auto [y, dx] = compile(pooled, vjp(pooled, x))(x = rows, cut = slices, cotangent(pooled) = ones);
  support::show("means of rows [3,5), [1,8), [4,8), [6,9):", y);
  support::expect("means", y, {14, 15, 16, 17, 16, 17, 18, 19, 22, 23, 24, 25, 28, 29, 30, 31});
  support::show("gradient:", dx, " %.4f");
  support::expect("row 4 lies in slices of 2, 7 and 4", std::fabs(dx(4, 0) - (1 / 2.f + 1 / 7.f + 1 / 4.f)) < 1e-6f);
  for (int j = 0; j < 4; ++j)
    support::expect("outside the slices, bit for bit", !std::signbit(dx(0, j)) && dx(0, j) == 0 && dx(9, j) == 0);

  // The familiar layer has the same under a name.
  const auto same = compile(segment_mean(x, bounds(cut)))(x = rows, cut = slices);
  for (int i = 0; i < 16; ++i) support::expect("segment_mean", same.data()[i] == y.data()[i]);
}

/* Output:
means of rows [3,5), [1,8), [4,8), [6,9):
  14 15 16 17
  16 17 18 19
  22 23 24 25
  28 29 30 31
gradient:
  0.0000 0.0000 0.0000 0.0000
  0.1429 0.1429 0.1429 0.1429
  0.1429 0.1429 0.1429 0.1429
  0.6429 0.6429 0.6429 0.6429
  0.8929 0.8929 0.8929 0.8929
  0.3929 0.3929 0.3929 0.3929
  0.7262 0.7262 0.7262 0.7262
  0.7262 0.7262 0.7262 0.7262
  0.3333 0.3333 0.3333 0.3333
  0.0000 0.0000 0.0000 0.0000
*/
