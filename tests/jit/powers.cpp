// Powers by numbers of the program: some are products, a root or a division, with pow's values at the edges.
#include <cmath>
#include <limits>

#include "plan_harness.hpp"

namespace sheaf::test::powers_tests {
namespace {

constexpr auto i = axis<"i">;

template <class T>
void check(double bound, const std::vector<double>& edges) {
  constexpr auto x = tensor<"x", T, 1>;
  constexpr auto cube = define<"cube">(i) = pow(x(i), 3_c);
  constexpr auto fourth = define<"fourth">(i) = pow(x(i), 4_c);
  constexpr auto root = define<"root">(i) = pow(x(i), 0.5_c);
  constexpr auto inverse = define<"inverse">(i) = pow(x(i), constant<-1.0>);
  constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> values{0.0, -0.0, 1, -1, inf, -inf, nan, 1e-20, -1e-20, 1e9, -1e9};
  values.insert(values.end(), edges.begin(), edges.end());
  for (int k = 0; k < 200; ++k) values.push_back((k - 100) * 0.37);
  trial test(detail::build_graph<decltype(cube), decltype(fourth), decltype(root), decltype(inverse)>());
  test.with("x", {static_cast<std::int64_t>(values.size())}, values);
  test.expect_right(bound);
}

// Halves up to 16 are products of powers and a root; each has pow's values at the edges, too.
template <class T, class... Exponents>
void check_each(double bound, const std::vector<double>& edges, Exponents... exponents) {
  constexpr auto x = tensor<"x", T, 1>;
  constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> values{0.0, -0.0, 1, -1, inf, -inf, nan, 1.5, -1.5};
  values.insert(values.end(), edges.begin(), edges.end());
  for (int k = 0; k < 100; ++k) values.push_back(std::exp((k - 50) * 0.11));
  const auto one = [&](auto exponent) {
    trial test(detail::build_graph<decltype(define<"y">(i) = pow(x(i), exponent))>());
    test.with("x", {static_cast<std::int64_t>(values.size())}, values);
    test.expect_right(bound);
  };
  (one(exponents), ...);
}

TEST(powers, by_halves) {
  check_each<float>(1.3e-7, {1e-2, 200, -200}, 5_c, 6_c, 12_c, 16_c, constant<-2.0>, constant<-3.0>, constant<-6.0>,
                    constant<1.5>, constant<2.5>, constant<-0.5>, constant<-1.5>, constant<-3.5>);
  check_each<double>(2.8e-16, {1e-160, 1e103, -1e103, 1e200, 1e-200, 1e308, 3e-308}, 5_c, 6_c, 12_c, 16_c,
                     constant<-2.0>, constant<-3.0>, constant<-6.0>, constant<1.5>, constant<2.5>, constant<-0.5>,
                     constant<-1.5>, constant<-3.5>);
}

TEST(powers, by_numbers) {
  check<float>(1e-7, {3e-38});
  check<double>(2.3e-16, {3e-308, 1e-160, -1e-110, 1e102, -1e103, 1e150, 1e160, -1.7e308});
}

}  // namespace
}  // namespace sheaf::test::powers_tests
