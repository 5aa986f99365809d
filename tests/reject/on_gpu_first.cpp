// expect: compile: on(gpu) comes last, once, after the outputs
#include <sheaf/sheaf.hpp>

using namespace sheaf;

constexpr auto t = axis<"t">;
constexpr auto x = tensor<"x", float, 1>;
constexpr auto total = define<"total">() = sum(t, x(t));

int main() { const auto program = compile(on(gpu), total); }
