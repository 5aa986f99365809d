// The additions of docs/extending.md, used as the page says, and compared with what they are by hand.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <sheaf/sheaf.hpp>

using namespace sheaf;

namespace {

constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto x = tensor<"x", float, 1>;
constexpr auto y = tensor<"y", float, 1>;
constexpr auto v = tensor<"v", float, 1>;
constexpr auto a = tensor<"a", float, 2>;

constexpr auto root = define<"root">(i) = cbrt(y(i) / x(i));
constexpr auto odd = define<"odd">(i) = parity(j, a(i, j) > 0_c);
constexpr auto change = define<"change">() = sum(i.in(0_c, extent(x, dim<0>) - 1_c), x(i + 1_c) - x(i));

int failures = 0;
void expect(bool holds, const char* what) {
  if (!holds) std::printf("extending: %s is wrong\n", what);
  failures += !holds;
}

void try_function() {
  array<float, 1> xs(37), ys(37), ones(37);
  for (int k = 0; k < 37; ++k) xs.data()[k] = 0.5f + static_cast<float>(k), ys.data()[k] = 5, ones.data()[k] = 1;
  auto [roots, dx] = compile(root, vjp(root, x, v))(x = xs, y = ys, v = ones);
  for (int k = 0; k < 37; ++k) {
    const double u = xs.data()[k], w = ys.data()[k];
    expect(std::abs(roots(k) - std::cbrt(w / u)) < 1e-6, "cbrt");
    expect(std::abs(dx(k) + std::cbrt(w / u) / (3 * u)) < 1e-5, "the gradient of cbrt");
  }
  static_assert(math::cbrt(27.0) > 2.9999999 && math::cbrt(27.0) < 3.0000001);
}

void try_monoid() {
  array<float, 2> values(5, 70);
  for (int k = 0; k < 5 * 70; ++k) values.data()[k] = static_cast<float>((k * 7919) % 13) - 6;
  auto result = compile(odd)(a = values);
  for (int r = 0; r < 5; ++r) {
    bool expected = false;
    for (int c = 0; c < 70; ++c) expected ^= values.data()[r * 70 + c] > 0;
    expect(result(r) == expected, "parity");
  }
}

void try_algorithm() {
  array<float, 1> xs(1000);
  for (int k = 0; k < 1000; ++k) xs.data()[k] = static_cast<float>(k * k);
  auto step = compile(change);
  expect(step(x = xs) == 999.f * 999.f, "telescope");
  expect(std::strstr(step.explain(x = xs), "rules: telescope") != nullptr, "the plan of telescope");
}

}  // namespace

int main() {
  try_function();
  try_monoid();
  try_algorithm();
  if (failures == 0) std::puts("extending: all additions work");
  return failures != 0;
}
