// expect: definition h6: two different definitions have this name
// memory: 1500 MB
// A mistake in a deep network, whose types compilers could write out.
#include "seven_layers.hpp"

constexpr auto w7 = tensor<"w7", float, 2>;
constexpr auto g7 = tensor<"g7", float, 1>;
constexpr auto c7 = tensor<"c7", float, 1>;
constexpr auto h7 = define<"h6">(b, j) = maximum(sum(k, n6(b, k) * w7(k, j)) + c7(j), 0_c);
constexpr auto n7 = layer_norm(h7, g7, c7);
constexpr auto id = tensor<"id", std::int64_t, 1>;
constexpr auto loss = cross_entropy(n7, id);
auto network() { return compile(loss, grad(loss, w0)); }
