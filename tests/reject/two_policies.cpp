// expect: max: two policies for one thing
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto x = tensor<"x", float, 1>;
constexpr auto n = tensor<"n", std::int64_t, 1>;
auto program = compile(max<ties::first, ties::last>(i, x(i)));
