// expect: expression: a bare number; write it as 2_c
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto a = tensor<"a", float, 1>;
constexpr auto y = a(0);
