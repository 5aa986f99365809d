// expect: max: expected an index, then what to fold
// expect: ; of two values, maximum(a, b)
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto a = tensor<"a", float, 1>;
constexpr auto y = define<"y">(i) = max(a(i), 0_c);
