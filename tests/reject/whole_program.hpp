// What the programs of each way to compile have in common: names that others may have too, a value, a gradient, a call.
#include <cstdint>
#include <vector>

#include <sheaf/sheaf.hpp>
#include <sheaf/text.hpp>

using namespace sheaf;
constexpr auto m = axis<"m">;
constexpr auto t = axis<"t">;
constexpr auto f = axis<"f">;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto cut = tensor<"cut", std::int64_t, 2>;
constexpr auto pooled = define<"pooled">(m, f) = mean(t.in(cut(m, 0_c), cut(m, 1_c)), x(t, f));
constexpr auto loss = define<"loss">() = sum(over(m, f), pooled(m, f) * pooled(m, f));
constexpr auto other = define<"other">(t) = max(f, exp(x(t, f))) + min(f, minimum(x(t, f), 1_c)) +
                                            clamp(sqrt(abs(x(t, 0_c))), 0_c, 1_c) + prod(f, x(t, f)) +
                                            cast<float>(any(f, isnan(x(t, f))));
constexpr auto c = concat(dim<0>, x, softmax(x, dim<1>));

inline float run(const std::vector<float>& rows, const std::int64_t (&bounds)[4][2]) {
  const auto v = view_of(rows.data(), {static_cast<std::int64_t>(rows.size()) / 4, 4});
  auto step = compile(loss, grad(loss, x), other, c);
  auto [l, dx, o, joined] = step(x = v, cut = bounds);
  return l() + dx(0, 0) + o(0) + joined(0, 0);
}
