// expect: cummax_with_indices: its option is reversed
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto x = tensor<"x", float, 1>;
constexpr auto y = cummax_with_indices<exclusive>(x, dim<0>).values;
