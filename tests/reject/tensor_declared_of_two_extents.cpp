// expect: tensor x: declared twice, with any extent and with extent 3 in dimension 0
#include <sheaf/sheaf.hpp>

using namespace sheaf;

constexpr auto i = axis<"i">;
constexpr auto y = define<"y">() = sum(i, tensor<"x", float, 1>(i)) + sum(i, tensor<"x", float, 1, 3>(i));

auto p = compile(y);
