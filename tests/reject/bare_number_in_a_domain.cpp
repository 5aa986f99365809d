// expect: expression: a bare number; write it as 2_c
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto a = tensor<"a", float, 1>;
constexpr auto y = sum(i.in(0, 3), a(i));
