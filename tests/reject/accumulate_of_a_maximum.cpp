// expect: max: accumulate and compensated are policies of sum, prod, mean and logsumexp
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto x = tensor<"x", float, 1>;
constexpr auto n = tensor<"n", std::int64_t, 1>;
auto program = compile(max<accumulate<double>>(i, x(i)));
