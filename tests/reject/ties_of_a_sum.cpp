// expect: sum: ties are a policy of max, min, argmax and argmin
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto x = tensor<"x", float, 1>;
constexpr auto n = tensor<"n", std::int64_t, 1>;
auto program = compile(sum<ties::first>(i, x(i)));
