// How do I take the mean of rows that a table of indices picks, batch by batch, with the gradient to the data?
// data [B, T, F] and picks [B, K] give [B, F]. A row that is picked twice counts twice. (Catalogue: A1)
#include <sheaf/sheaf.hpp>
#include <support/check.hpp>

using namespace sheaf;

constexpr auto b = axis<"b">;
constexpr auto k = axis<"k">;
constexpr auto f = axis<"f">;
constexpr auto data = tensor<"data", float, 3>;
constexpr auto picks = tensor<"picks", std::int64_t, 2>;

constexpr auto gathered = define<"gathered">(b, f) = mean(k, data(b, picks(b, k), f));

int main() {
  const auto values = support::counting(array<float, 3>(4, 7, 5));
  const std::int64_t chosen[4][3] = {{0, 2, 5}, {1, 1, 6}, {3, 4, 5}, {6, 0, 6}};
  array<float, 2> ones(4, 5);
  ones.fill(1);

  const auto step = compile(gathered, vjp(gathered, data));
  const auto [y, d] = step(data = values, picks = chosen, cotangent(gathered) = ones);
  support::show("mean of the picked rows, [4,7,5] and [4,3] give [4,5]:", y, " %8.4f");
  support::expect("means", y,
                  {35 / 3.,  38 / 3.,  41 / 3.,  44 / 3.,  47 / 3.,  //
                   145 / 3., 148 / 3., 151 / 3., 154 / 3., 157 / 3., 90, 91, 92, 93, 94, 125, 126, 127, 128, 129});
  std::printf("gradient of batch 1, feature 0: row 1 was picked twice\n ");
  for (int t = 0; t < 7; ++t) std::printf(" %.4f", static_cast<double>(d(1, t, 0)));
  std::printf("\n");
  support::expect("a row picked twice", std::fabs(d(1, 1, 0) - 2 / 3.f) < 1e-6f);
  support::expect("a row not picked is exactly 0", d(1, 0, 0) == 0);
}

/* Output:
mean of the picked rows, [4,7,5] and [4,3] give [4,5]:
   11.6667  12.6667  13.6667  14.6667  15.6667
   48.3333  49.3333  50.3333  51.3333  52.3333
   90.0000  91.0000  92.0000  93.0000  94.0000
  125.0000 126.0000 127.0000 128.0000 129.0000
gradient of batch 1, feature 0: row 1 was picked twice
  0.0000 0.6667 0.0000 0.0000 0.0000 0.0000 0.3333
*/
