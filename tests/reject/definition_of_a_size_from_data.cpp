// expect: definition y: the size of index i depends on data or another index, expected numbers and extents
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto a = tensor<"a", float, 1>;
constexpr auto n = scalar<"n", std::int64_t>;
auto program = compile(define<"y">(i.in(0_c, n)) = a(i));
