// expect: mean over i0: the values are i64, expected a floating type; cast them
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto x = tensor<"x", std::int64_t, 2>;
auto program = compile(mean(x, dim<0>));
