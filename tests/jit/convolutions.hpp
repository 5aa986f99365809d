// What programs of convolutions are written with: images n, places i and j, channels o and c, windows u and v.
#pragma once
#include "plan_harness.hpp"

namespace sheaf::test::convolutions {

inline constexpr auto n = axis<"n">;
inline constexpr auto i = axis<"i">;
inline constexpr auto j = axis<"j">;
inline constexpr auto o = axis<"o">;
inline constexpr auto c = axis<"c">;
inline constexpr auto u = axis<"u">;
inline constexpr auto v = axis<"v">;
inline constexpr auto x = tensor<"x", float, 3>;
inline constexpr auto w = tensor<"w", float, 3>;
inline constexpr auto images = tensor<"images", float, 4>;
inline constexpr auto weights = tensor<"weights", float, 4>;

}  // namespace sheaf::test::convolutions
