// Tables of rows and programs over them that several tests of this folder call.
#pragma once
#include <sheaf/sheaf.hpp>

namespace sheaf::test::of_rows {

constexpr auto m = axis<"m">;
constexpr auto t = axis<"t">;
constexpr auto f = axis<"f">;
constexpr auto k = axis<"k">;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto pick = tensor<"pick", std::int64_t, 1>;
constexpr auto cut = tensor<"cut", std::int64_t, 2>;
constexpr auto pooled = define<"pooled">(m, f) = mean(t.in(cut(m, 0_c), cut(m, 1_c)), x(t, f));
constexpr auto total = define<"total">(f) = sum(t, x(t, f));
constexpr auto across = define<"across">(t) = sum(f, x(t, f));
constexpr auto taken = define<"taken">(m, f) = x(pick(m), f);

}  // namespace sheaf::test::of_rows
