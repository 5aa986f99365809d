// expect: tensor: its rank is from 0 to 8
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto z = tensor<"z", float, 9>;
constexpr int rank = z.rank;
