// Powers by numbers of the program: some are products, a root or a division, with pow's values at the edges.
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

TEST(powers, by_numbers) {
  check<float>(1e-7, {3e-38});
  check<double>(2.3e-16, {3e-308, 1e-160, -1e-110, 1e102, -1e103, 1e150, 1e160, -1.7e308});
}

}  // namespace
}  // namespace sheaf::test::powers_tests
