// expect: expression: tensor n has rank 1, got no subscripts
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto a = tensor<"a", float, 1>;
constexpr auto n = tensor<"n", std::int64_t, 1>;
constexpr auto y = a(n);
