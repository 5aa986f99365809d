// expect: call: argument x: expected memory of a GPU, got memory of the host; to_device(...) copies it
#include <sheaf/sheaf.hpp>

using namespace sheaf;

constexpr auto t = axis<"t">;
constexpr auto x = tensor<"x", float, 1>;
constexpr auto total = define<"total">() = sum(t, x(t));

int main() {
  const array<float, 1> values(8);
  const auto program = compile(total, on(gpu));
  program(x = values);
}
