// expect: fold counted: empty::nan has no place in i64
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto x = tensor<"x", float, 1>;
constexpr auto counted = own_monoid<"counted">(tuple(0_c, 0_c), [](auto a, auto b) {
  return tuple(get<0>(a) + get<0>(b), get<1>(a) + get<1>(b));
});
auto program = compile(get<0>(fold<empty::nan>(counted, i, tuple(cast<std::int64_t>(1_c), x(i)))));
