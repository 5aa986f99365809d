// The example of the README, word for word.
#include <cstdint>
#include <cstdio>
#include <sheaf/sheaf.hpp>

using namespace sheaf;

constexpr auto m = axis<"m">;  // indices: the names of loops
constexpr auto t = axis<"t">;
constexpr auto f = axis<"f">;
constexpr auto x = tensor<"x", float, 2>;             // inputs: element type and rank
constexpr auto cut = tensor<"cut", std::int64_t, 2>;  // rows [begin, end) of each slice

constexpr auto pooled = define<"pooled">(m, f) = mean(t.in(cut(m, 0_c), cut(m, 1_c)), x(t, f));
constexpr auto loss = define<"loss">() = sum(over(m, f), pooled(m, f) * pooled(m, f));

int main() {
  array<float, 2> rows(10, 4);
  for (int i = 0; i < 40; ++i) rows.data()[i] = static_cast<float>(i);
  const std::int64_t bounds[4][2] = {{3, 5}, {1, 8}, {4, 8}, {6, 9}};  // slices overlap and have any length

  auto step = compile(loss, grad(loss, x));  // one program: value and gradient, fused
  auto [l, dx] = step(x = rows, cut = bounds);
  std::printf("loss %g, dloss/dx[4][0] %g\n", static_cast<double>(l), static_cast<double>(dx(4, 0)));
  std::puts(step.text());
}

/* Output:
loss 7896, dloss/dx[4][0] 29.5714
input cut: i64[?, ?]
input x: f32[?, ?]
axis m: extent(cut, 0)
axis f: extent(x, 1)
axis t: extent(x, 0)
pooled(m, f) = sum(t.in(cut(m, 0), cut(m, 1)), x(t, f)) / cast<f32>(maximum(cut(m, 1) - cut(m, 0), 0))
loss = sum(over(m, f), pooled(m, f) * pooled(m, f))
dloss_dx(t, f) = sum(m.where(cut(m, 0) <= t && t < cut(m, 1)), (pooled(m, f) + pooled(m, f)) / cast<f32>(maximum(cut(m, 1) - cut(m, 0), 0)))
output loss, dloss_dx
*/
