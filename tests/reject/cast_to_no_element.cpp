// expect: cast<T>: T is not an element type of Sheaf (see docs/language.md)
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto a = tensor<"a", float, 1>;
constexpr auto y = cast<long double>(a(i));
