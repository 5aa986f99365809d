// What tests/packages/debugged.sh looks at by GDB: a program with one kernel.
#include <cstdio>
#include <vector>

#include <sheaf/sheaf.hpp>

using namespace sheaf;

constexpr auto i = axis<"i">;
constexpr auto x = tensor<"x", float, 1>;
constexpr auto doubled = define<"doubled">(i) = x(i) + x(i);

int main() {
  std::vector<float> data(1000, 3.0f);
  const auto y = compile(doubled)(x = data);
  std::printf("%g\n", static_cast<double>(y(999)));
}
