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

constexpr auto angle = define<"angle">(i) = atan(y(i) / x(i));
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
  auto [angles, dx] = compile(angle, vjp(angle, x, v))(x = xs, y = ys, v = ones);
  for (int k = 0; k < 37; ++k) {
    const double u = xs.data()[k], w = ys.data()[k];
    expect(std::abs(angles(k) - std::atan(w / u)) < 1e-6, "atan");
    expect(std::abs(dx(k) + w / (u * u + w * w)) < 1e-6, "the gradient of atan");
  }
  static_assert(math::atan(1.0) > 0.78539816 && math::atan(1.0) < 0.78539817);
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
