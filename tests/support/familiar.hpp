// One check for each function of the familiar layer: values by kernels and reference against a plain loop, and
// gradients against finite differences in f64.
//
// and of further inputs: checked(y, x, values, w = ws)
//   const auto y = checked(softmax(x, dim<1>), x, values);
//   expect_each(y, [&](auto at) { return ...; });                        // at[d]: the position
#pragma once
#include <support/both.hpp>

namespace sheaf::test {

template <class Array>
double product(const Array& a, const Array& b) {
  double total = 0;
  for (std::int64_t i = 0; i < a.size(); ++i) total += a.data()[i] * b.data()[i];
  return total;
}

// The values of y, whose vjp to x is compared with central differences: relative to the largest derivative, 1e-6.
template <class Y, class X, int Rank, class... B>
auto checked(Y y, X x, const array<double, Rank>& values, B... others) {
  const auto found = both(y).rounds(256)(x = values, others...);
  auto cotangents = found;
  const std::vector<double> weights = noise(static_cast<std::size_t>(found.size()), 0.5, 1.5, 7);
  for (std::int64_t i = 0; i < found.size(); ++i) cotangents.data()[i] = weights[static_cast<std::size_t>(i)];
  const auto derived = both(vjp(y, x)).rounds(4096)(x = values, others..., cotangent(y) = cotangents);
  const auto forward = compile(y);
  array<double, Rank> moved = values;
  std::vector<double> expected;
  double scale = 1e-3;
  for (std::int64_t i = 0; i < values.size(); ++i) {
    const double step = 1e-5 * std::max(1.0, std::abs(values.data()[i]));
    moved.data()[i] = values.data()[i] + step;
    const double above = product(forward(x = moved, others...), cotangents);
    moved.data()[i] = values.data()[i] - step;
    const double below = product(forward(x = moved, others...), cotangents);
    moved.data()[i] = values.data()[i];
    expected.push_back((above - below) / (2 * step));
    scale = std::max(scale, std::abs(expected.back()));
  }
  for (std::int64_t i = 0; i < values.size(); ++i)
    EXPECT_NEAR(derived.data()[i], expected[static_cast<std::size_t>(i)], 1e-6 * scale)
        << "gradient of " << Y::label.text << ", element " << i;
  return found;
}

// expected(position) for each element of an array, to a relative 1e-12 (exactly for integers).
template <class T, int Rank, class Expected>
void expect_each(const array<T, Rank>& found, std::array<std::int64_t, Rank> extents, Expected expected) {
  for (int d = 0; d < Rank; ++d) ASSERT_EQ(found.extent(d), extents[static_cast<std::size_t>(d)]) << "dimension " << d;
  for (std::int64_t i = 0; i < found.size(); ++i) {
    std::array<std::int64_t, Rank> at{};
    std::int64_t rest = i;
    for (int d = Rank - 1; d >= 0; --d) {
      at[static_cast<std::size_t>(d)] = rest % extents[static_cast<std::size_t>(d)];
      rest /= extents[static_cast<std::size_t>(d)];
    }
    const double wanted = static_cast<double>(expected(at)), got = number_of(found.data()[i]);
    if (std::isnan(wanted) || std::isinf(wanted))
      ASSERT_TRUE(std::isnan(wanted) ? std::isnan(got) : got == wanted)
          << "element " << i << ": " << got << ", expected " << wanted;
    else
      ASSERT_NEAR(got, wanted, unit_of<T>() == 0 ? 0 : 1e-12 * std::max(1.0, std::abs(wanted))) << "element " << i;
  }
}

}  // namespace sheaf::test
