// flavour: ok
// memory: 1500 MB
// Eight layers of a network with layer norms, and all of its gradients.
#include "seven_layers.hpp"

constexpr auto w7 = tensor<"w7", float, 2>;
constexpr auto g7 = tensor<"g7", float, 1>;
constexpr auto c7 = tensor<"c7", float, 1>;
constexpr auto h7 = define<"h7">(b, j) = maximum(sum(k, n6(b, k) * w7(k, j)) + c7(j), 0_c);
constexpr auto n7 = layer_norm(h7, g7, c7);
constexpr auto id = tensor<"id", std::int64_t, 1>;
constexpr auto loss = cross_entropy(n7, id);
auto network() {
  return compile(loss,
                 grad(loss, w0), grad(loss, g0), grad(loss, c0),
                 grad(loss, w1), grad(loss, g1), grad(loss, c1),
                 grad(loss, w2), grad(loss, g2), grad(loss, c2),
                 grad(loss, w3), grad(loss, g3), grad(loss, c3),
                 grad(loss, w4), grad(loss, g4), grad(loss, c4),
                 grad(loss, w5), grad(loss, g5), grad(loss, c5),
                 grad(loss, w6), grad(loss, g6), grad(loss, c6),
                 grad(loss, w7), grad(loss, g7), grad(loss, c7));
}
