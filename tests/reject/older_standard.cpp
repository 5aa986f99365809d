// expect: sheaf: C++20 is needed; compile with -std=c++20
// flags: -std=c++17
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto x = tensor<"x", float, 1>;
constexpr auto y = define<"y">() = sum(i, x(i));
float sum_of(const float (&rows)[4]) { return compile(y)(x = rows); }
