// expect: sum: accumulate and compensated are for floating types; the values are i64, the accumulator f64
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto x = tensor<"x", float, 1>;
constexpr auto n = tensor<"n", std::int64_t, 1>;
auto program = compile(sum<accumulate<double>>(i, n(i)));
