// How do I write the masked mean as a contraction with a one-hot matrix, and does it give the same?
// The product of a comparison and a load is recognised: the gradient reads and writes only rows that are named.
// (Catalogue: A3)
#include <sheaf/sheaf.hpp>
#include <support/check.hpp>

using namespace sheaf;

constexpr auto b = axis<"b">;
constexpr auto t = axis<"t">;
constexpr auto k = axis<"k">;
constexpr auto f = axis<"f">;
constexpr auto data = tensor<"data", float, 3>;
constexpr auto picks = tensor<"picks", std::int64_t, 2>;

constexpr auto hot = cast<float>(any(k, picks(b, k) == t));  // one number for each b and t
constexpr auto contracted = define<"contracted">(b, f) =
    sum(t, hot* data(b, t, f)) / sum(t.in(0_c, data.extent(dim<1>)), hot);
constexpr auto masked = define<"masked">(b, f) = mean(t.where(any(k, picks(b, k) == t)), data(b, t, f));

int main() {
  const auto values = support::counting(array<float, 3>(4, 7, 5));
  const std::int64_t chosen[4][3] = {{0, 2, 5}, {1, 1, 6}, {3, 4, 5}, {6, 0, 6}};
  array<float, 2> ones(4, 5);
  ones.fill(1);
  const auto [c, dc, m, dm] = compile(contracted, vjp(contracted, data), masked, vjp(masked, data))(
      data = values, picks = chosen, cotangent(contracted) = ones, cotangent(masked) = ones);
  support::show("one-hot mean:", c, " %8.4f");
  for (std::int64_t i = 0; i < c.size(); ++i)
    support::expect("as the masked mean", std::fabs(c.data()[i] - m.data()[i]) < 1e-4f);
  for (std::int64_t i = 0; i < dc.size(); ++i)
    support::expect("and its gradient", std::fabs(dc.data()[i] - dm.data()[i]) < 1e-6f);
}

/* Output:
one-hot mean:
   11.6667  12.6667  13.6667  14.6667  15.6667
   52.5000  53.5000  54.5000  55.5000  56.5000
   90.0000  91.0000  92.0000  93.0000  94.0000
  120.0000 121.0000 122.0000 123.0000 124.0000
*/
