// How do I tell a gradient of gathered rows that the ids are the same in every step, so that it need not sort them
// anew? keep(ids =
// ...) promises it: the first call learns, later ones use it, with the same bits. (Catalogue: embedding bag)
#include <sheaf/sheaf.hpp>
#include <support/check.hpp>

using namespace sheaf;

constexpr auto b = axis<"b">;
constexpr auto k = axis<"k">;
constexpr auto f = axis<"f">;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto ids = tensor<"ids", std::int64_t, 2>;
constexpr auto bags = define<"bags">(b, f) = sum(k, x(ids(b, k), f));
constexpr auto loss = define<"loss">() = sum(over(b, f), bags(b, f) * bags(b, f));

int main() {
  auto table = support::filled(array<float, 2>(4, 2), {1, 2, 3, 4, 5, 6, 7, 8});
  auto chosen = support::filled(array<std::int64_t, 2>(2, 2), {0, 3, 3, 3});
  const auto step = compile(loss, grad(loss, x));
  auto fixed = step.keep(ids = chosen);
  for (int turn = 0; turn < 2; ++turn) {
    const auto [l, dx] = step(x = table, fixed);  // instead of ids = chosen
    support::show("gradient:", dx);
    table(0, 0) = 0;
  }
  // Other ids in the same place: said before the next call.
  chosen(1, 0) = 1;
  fixed.changed();
  const auto [l, dx] = step(x = table, fixed);
  support::show("of other ids:", dx);
  support::expect("gradient", dx, {14, 20, 20, 24, 0, 0, 34, 44});
}

/* Output:
gradient:
  16 20
  0 0
  0 0
  72 84
gradient:
  14 20
  0 0
  0 0
  70 84
of other ids:
  14 20
  20 24
  0 0
  34 44
*/
