// The rows of docs/catalogue.md, B and C, by every tensor they can be differentiated by: SHEAF_ROW(name, x,
// expression...). Each is checked by kernels and reference; vjp and jvp against differences and each other; the
// gradient of the gradient against differences of the gradient (by_name.hpp).
#pragma once
#include <gtest/gtest.h>

#include <coverage/by_name.hpp>

namespace sheaf::rows {

constexpr auto i = axis<"i">;
constexpr auto t = axis<"t">;
constexpr auto f = axis<"f">;
constexpr auto m = axis<"m">;
constexpr auto k = axis<"k">;
constexpr auto u = axis<"u">;
constexpr auto x = tensor<"x", double, 2>;  // [T, F]
constexpr auto w = tensor<"w", double, 2>;
constexpr auto v3 = tensor<"v3", double, 3>;              // [2, 3, 9]
constexpr auto v4 = tensor<"v4", double, 4>;              // [1, 2, 7, 6]
constexpr auto a = tensor<"a", double, 2>;                // [F, F]
constexpr auto features = tensor<"features", double, 1>;  // [F]
constexpr auto bias = tensor<"bias", double, 1>;
constexpr auto weight = tensor<"weight", double, 1>;  // [T]
constexpr auto column = tensor<"column", double, 1>;
constexpr auto channel = tensor<"channel", double, 1>;  // [3]
constexpr auto channel_shift = tensor<"channel_shift", double, 1>;
constexpr auto batches = tensor<"batches", double, 3>;  // [2, 9, 2]
constexpr auto keep = tensor<"keep", bool, 1>;
constexpr auto ids = tensor<"ids", std::int64_t, 1>;
constexpr auto order = tensor<"order", std::int64_t, 1>;
constexpr auto small = tensor<"small", std::int64_t, 1>;
constexpr auto places = tensor<"places", std::int64_t, 2>;
constexpr auto target = tensor<"target", std::int64_t, 1>;
constexpr auto target3 = tensor<"target3", std::int64_t, 2>;
constexpr auto cut = tensor<"cut", std::int64_t, 2>;
constexpr auto off = tensor<"off", std::int64_t, 1>;
constexpr auto picks = tensor<"picks", std::int64_t, 2>;
constexpr auto share = tensor<"share", double, 2>;

}  // namespace sheaf::rows

#define SHEAF_ROW(name, by, ...)                                                                 \
  TEST(derivative_of, name) {                                                                    \
    constexpr auto y = __VA_ARGS__;                                                              \
    sheaf::test::check_everywhere(sheaf::test::second_order(#__VA_ARGS__ " by " #by, y, by), 1); \
  }
