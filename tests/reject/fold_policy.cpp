// expect: fold: its one policy says what it is over nothing, as in fold<empty::nan>(monoid, t, e)
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto x = tensor<"x", float, 1>;
constexpr auto longest = own_monoid<"longest">(0_c, [](auto a, auto b) { return maximum(abs(a), abs(b)); });
auto program = compile(fold<ties::first>(longest, i, x(i)));
