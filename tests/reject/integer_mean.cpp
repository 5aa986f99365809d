// expect: mean over i: the values are i64, expected a floating type; cast them: mean(i, cast<float>(...))
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto n = tensor<"n", std::int64_t, 1>;
auto program = compile(mean(i, n(i)));
