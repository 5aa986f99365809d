// flavour: ok
#include <sheaf/sheaf.hpp>

using namespace sheaf;

constexpr auto t = axis<"t">;
constexpr auto x = tensor<"x", float, 1>;
constexpr auto total = define<"total">() = sum(t, x(t));

int main() {
  const stream s(on(gpu));
  device_array<float, 1> values(s, 8);
  device_array<float, 0> sum(s);
  const auto program = compile(total, on(gpu));
  program(x = values, total = sum, on(s));
  const device_array<float, 0> made = program(x = values, on(s));
}
