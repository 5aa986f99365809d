// How do I make a mask from indices inside the expression, so that a repeated index counts once? And with a mask that
// is given? any(k, picks(b, k) == t) is the mask; nothing of the size of T times K is ever stored. (Catalogue: A2)
#include <sheaf/sheaf.hpp>
#include <support/check.hpp>

using namespace sheaf;

constexpr auto b = axis<"b">;
constexpr auto t = axis<"t">;
constexpr auto k = axis<"k">;
constexpr auto f = axis<"f">;
constexpr auto data = tensor<"data", float, 3>;
constexpr auto picks = tensor<"picks", std::int64_t, 2>;
constexpr auto keep = tensor<"keep", bool, 2>;

constexpr auto gathered = define<"gathered">(b, f) = mean(k, data(b, picks(b, k), f));
constexpr auto masked = define<"masked">(b, f) = mean(t.where(any(k, picks(b, k) == t)), data(b, t, f));
constexpr auto given = define<"given">(b, f) = mean(t.where(keep(b, t)), data(b, t, f));

int main() {
  const auto values = support::counting(array<float, 3>(4, 7, 5));
  const std::int64_t chosen[4][3] = {{0, 2, 5}, {1, 1, 6}, {3, 4, 5}, {6, 0, 6}};
  array<bool, 2> mask(4, 7);
  mask.fill(false);
  for (int r = 0; r < 3; ++r)  // the last row stays fully masked
    for (const std::int64_t c : chosen[r]) mask(r, c) = true;

  const auto [g, m, n] = compile(gathered, masked, given)(data = values, picks = chosen, keep = mask);
  std::printf("feature 0 of each batch: every pick counts, every row counts once, a mask that is given\n");
  for (int r = 0; r < 4; ++r)
    std::printf("  %8.4f %8.4f %8.4f\n", static_cast<double>(g(r, 0)), static_cast<double>(m(r, 0)),
                std::fabs(static_cast<double>(n(r, 0))));
  support::expect("no index repeats: the same", g(0, 0) == m(0, 0) && g(2, 3) == m(2, 3));
  support::expect("an index repeats: not the same", g(1, 0) != m(1, 0) && m(1, 0) == 52.5f);
  support::expect("the mask that is given", n(1, 4) == m(1, 4));
  support::expect("the mean of nothing is not a number", std::isnan(n(3, 0)));
}

/* Output:
feature 0 of each batch: every pick counts, every row counts once, a mask that is given
   11.6667  11.6667  11.6667
   48.3333  52.5000  52.5000
   90.0000  90.0000  90.0000
  125.0000 120.0000      nan
*/
