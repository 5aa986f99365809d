// expect: vjp: what is differentiated is a definition; write define<"name">(indices...) = expression first
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto a = tensor<"a", float, 1>;
constexpr auto dy = vjp(sum(i, a(i)), a);
