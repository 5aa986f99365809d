// expect: expression: it has no value before a call; print what compile(...) returns, called, or its text()
#include <iostream>
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto x = tensor<"x", float, 1>;
constexpr auto y = define<"y">() = sum(i, x(i));
void show() { std::cout << y; }
