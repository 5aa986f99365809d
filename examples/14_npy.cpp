// How do I exchange arrays with NumPy by files?
// support/npy.hpp reads and writes .npy: numpy.save("rows.npy", rows) on one side, load_npy<float, 2>("rows.npy") on
// the other. Tensors of a process that NumPy is part of are exchanged without a copy (DLPack, docs/embedding.md).
#include <sheaf/sheaf.hpp>
#include <support/check.hpp>
#include <support/npy.hpp>

using namespace sheaf;

constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto means = define<"means">(i) = mean(j, x(i, j));

int main() {
  support::save_npy("rows.npy", support::counting(array<float, 2>(3, 4)));
  const auto rows = support::load_npy<float, 2>("rows.npy");
  const array<float, 1> y = compile(means)(x = rows);
  support::save_npy("means.npy", y);
  const auto again = support::load_npy<float, 1>("means.npy");
  for (int k = 0; k < 3; ++k) std::printf("%g%c", static_cast<double>(again(k)), k < 2 ? ' ' : '\n');
  try {
    support::load_npy<double, 1>("means.npy");
  } catch (const std::runtime_error& problem) {
    std::puts(problem.what());
  }
}

/* Output:
1.5 5.5 9.5
means.npy: expected elements <f8
*/
