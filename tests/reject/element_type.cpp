// expect: tensor: this is not an element type of Sheaf (see docs/language.md)
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto z = tensor<"z", long double, 1>;
constexpr int rank = z.rank;
