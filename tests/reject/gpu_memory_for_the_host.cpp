// expect: call: argument x: expected memory of the host, got memory of a GPU; to_host(...) copies it
#include <sheaf/sheaf.hpp>

using namespace sheaf;

constexpr auto t = axis<"t">;
constexpr auto x = tensor<"x", float, 1>;
constexpr auto total = define<"total">() = sum(t, x(t));

int main() {
  const device_array<float, 1> values(on(gpu), 8);
  const auto program = compile(total);
  program(x = values);
}
