// A gradient of a long expression, called in every way: check.sh reads this object's symbols. No function or
// object may carry an expression's type in its name: such names are thousands of characters, and slow every link.
#include <vector>

#include <sheaf/sheaf.hpp>

using namespace sheaf;

float train(std::vector<float>& values, std::vector<std::int64_t>& picks, std::vector<float>& out) {
  constexpr auto b = axis<"b">;
  constexpr auto k = axis<"k">;
  constexpr auto f = axis<"f">;
  constexpr auto g = axis<"g">;
  constexpr auto x = tensor<"x", float, 2>;
  constexpr auto pick = tensor<"pick", std::int64_t, 2>;
  constexpr auto pooled = define<"pooled">(b, f) = mean(k, x(pick(b, k), f));
  constexpr auto centre = define<"centre">(b) = mean(f, pooled(b, f));
  constexpr auto spread = define<"spread">(b) = mean(f, (pooled(b, f) - centre(b)) * (pooled(b, f) - centre(b)));
  constexpr auto normal = define<"normal">(b, f) = (pooled(b, f) - centre(b)) * rsqrt(spread(b) + 1e-5_c);
  constexpr auto soft = define<"soft">(b, f) = exp(normal(b, f) - logsumexp(g, normal(b, g)));
  constexpr auto loss = define<"loss">() = sum(over(b, f), soft(b, f) * soft(b, f));
  const auto step = compile(loss, grad(loss, x), soft);
  const auto rows = view_of(values.data(), values.size() / 4, 4);
  const auto ids = view_of(picks.data(), picks.size() / 2, 2);
  auto [l, dx, s] = step(x = rows, pick = ids);
  auto both = step(x = rows, pick = ids, grad(loss, x) = view_of(out.data(), values.size() / 4, 4));
  return l + dx(0, 0) + s(0, 0) + std::get<0>(both) + static_cast<float>(*step.explain(x = rows, pick = ids));
}
