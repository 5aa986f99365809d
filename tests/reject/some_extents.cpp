// expect: tensor: give one extent for each dimension, or none
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto z = tensor<"z", float, 2, 3>;
constexpr int rank = z.rank;
