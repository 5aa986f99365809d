// expect: call: argument x: expected f32 of rank 1, got f32 of rank 2
#include <sheaf/sheaf.hpp>

using namespace sheaf;

constexpr auto t = axis<"t">;
constexpr auto x = tensor<"x", float, 1>;
constexpr auto total = define<"total">() = sum(t, x(t));

int main() {
  const device_array<float, 2> values(on(gpu), 8, 8);
  const auto program = compile(total, on(gpu));
  program(x = values);
}
