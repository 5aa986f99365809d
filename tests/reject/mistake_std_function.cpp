// expect: expression: it has no value before a call, so it is no double; of an expression write exp(x(i)), not std::exp(x(i))
#include <sheaf/sheaf.hpp>
#include <cmath>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto v = tensor<"v", float, 1>;
auto e = std::exp(v(i));
