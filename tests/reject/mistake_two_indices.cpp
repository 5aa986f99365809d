// expect: sum: expected an index, then what to fold, as in sum(t, x(t)), sum(t.in(lo, hi), x(t)) or sum(over(m, t), y(m, t))
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto v = tensor<"v", float, 1>;
constexpr auto z = define<"z">() = sum(i, j, x(i, j));
