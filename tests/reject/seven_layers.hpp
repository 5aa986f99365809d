// Seven layers of a network with layer norms: n6 is what the last one gives.
#pragma once
#include <cstdint>

#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto b = axis<"b">;
constexpr auto j = axis<"j">;
constexpr auto k = axis<"k">;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto w0 = tensor<"w0", float, 2>;
constexpr auto g0 = tensor<"g0", float, 1>;
constexpr auto c0 = tensor<"c0", float, 1>;
constexpr auto h0 = define<"h0">(b, j) = maximum(sum(k, x(b, k) * w0(k, j)) + c0(j), 0_c);
constexpr auto n0 = layer_norm(h0, g0, c0);
constexpr auto w1 = tensor<"w1", float, 2>;
constexpr auto g1 = tensor<"g1", float, 1>;
constexpr auto c1 = tensor<"c1", float, 1>;
constexpr auto h1 = define<"h1">(b, j) = maximum(sum(k, n0(b, k) * w1(k, j)) + c1(j), 0_c);
constexpr auto n1 = layer_norm(h1, g1, c1);
constexpr auto w2 = tensor<"w2", float, 2>;
constexpr auto g2 = tensor<"g2", float, 1>;
constexpr auto c2 = tensor<"c2", float, 1>;
constexpr auto h2 = define<"h2">(b, j) = maximum(sum(k, n1(b, k) * w2(k, j)) + c2(j), 0_c);
constexpr auto n2 = layer_norm(h2, g2, c2);
constexpr auto w3 = tensor<"w3", float, 2>;
constexpr auto g3 = tensor<"g3", float, 1>;
constexpr auto c3 = tensor<"c3", float, 1>;
constexpr auto h3 = define<"h3">(b, j) = maximum(sum(k, n2(b, k) * w3(k, j)) + c3(j), 0_c);
constexpr auto n3 = layer_norm(h3, g3, c3);
constexpr auto w4 = tensor<"w4", float, 2>;
constexpr auto g4 = tensor<"g4", float, 1>;
constexpr auto c4 = tensor<"c4", float, 1>;
constexpr auto h4 = define<"h4">(b, j) = maximum(sum(k, n3(b, k) * w4(k, j)) + c4(j), 0_c);
constexpr auto n4 = layer_norm(h4, g4, c4);
constexpr auto w5 = tensor<"w5", float, 2>;
constexpr auto g5 = tensor<"g5", float, 1>;
constexpr auto c5 = tensor<"c5", float, 1>;
constexpr auto h5 = define<"h5">(b, j) = maximum(sum(k, n4(b, k) * w5(k, j)) + c5(j), 0_c);
constexpr auto n5 = layer_norm(h5, g5, c5);
constexpr auto w6 = tensor<"w6", float, 2>;
constexpr auto g6 = tensor<"g6", float, 1>;
constexpr auto c6 = tensor<"c6", float, 1>;
constexpr auto h6 = define<"h6">(b, j) = maximum(sum(k, n5(b, k) * w6(k, j)) + c6(j), 0_c);
constexpr auto n6 = layer_norm(h6, g6, c6);
