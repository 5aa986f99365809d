// The steps of docs/tutorial.md, from a sum to the attention of ragged sequences with its gradients.
#include <cmath>
#include <cstdio>
#include <sheaf/sheaf.hpp>
#include <support/check.hpp>
#include <vector>

using namespace sheaf;

namespace first {
constexpr auto i = axis<"i">;
constexpr auto x = tensor<"x", float, 1>;
constexpr auto total = sum(i, x(i) * x(i));

void run() {
  const std::vector<float> numbers = {1, 2, 3};
  auto step = compile(total);
  std::printf("1. %g\n", static_cast<double>(step(x = numbers)()));
}
}  // namespace first

namespace second {
constexpr auto t = axis<"t">;
constexpr auto f = axis<"f">;
constexpr auto rows = tensor<"rows", float, 2>;
constexpr auto means = define<"means">(t) = mean(f, rows(t, f));
constexpr auto centred = define<"centred">(t, f) = rows(t, f) - means(t);

void run() {
  const float data[2][3] = {{1, 2, 6}, {0, 3, 3}};
  auto step = compile(means, centred);
  const auto [m, c] = step(rows = data);
  std::printf("2. means %g %g, centred %g %g %g\n", static_cast<double>(m(0)), static_cast<double>(m(1)),
              static_cast<double>(c(0, 0)), static_cast<double>(c(0, 1)), static_cast<double>(c(0, 2)));
}
}  // namespace second

namespace third {
using second::f, second::rows, second::t;
constexpr auto loss = sum(over(t, f), second::centred(t, f) * second::centred(t, f));
constexpr auto slope = grad(loss, rows);

void run() {
  const float data[2][3] = {{1, 2, 6}, {0, 3, 3}};
  auto step = compile(loss, slope);
  const auto [l, d] = step(rows = data);
  std::printf("3. loss %g, slope of one element %g\n", static_cast<double>(l()), static_cast<double>(d(0, 2)));
}
}  // namespace third

namespace fourth {
using second::f, second::rows, second::t;
constexpr auto m = axis<"m">;
constexpr auto off = tensor<"off", std::int64_t, 1>;
constexpr auto mine = t.in(off(m), off(m + 1_c));
constexpr auto bags = m.in(0_c, extent(off, dim<0>) - 1_c);
constexpr auto pooled = define<"pooled">(bags, f) = mean(mine, rows(t, f));

void run() {
  const float data[4][1] = {{1}, {2}, {6}, {10}};
  const std::vector<std::int64_t> ends = {0, 3, 4};
  auto step = compile(pooled);
  const auto p = step(rows = data, off = ends);
  std::printf("4. means of rows 0 to 2 and of row 3: %g %g\n", static_cast<double>(p(0, 0)),
              static_cast<double>(p(1, 0)));
}
}  // namespace fourth

namespace fifth {
using fourth::m, fourth::mine, fourth::off, second::t;
constexpr auto d = axis<"d">;
constexpr auto j = axis<"j">;
constexpr auto query = tensor<"query", float, 2>;
constexpr auto key = tensor<"key", float, 2>;
constexpr auto value = tensor<"value", float, 2>;
constexpr auto score = 0.5_c * sum(d, query(m, d) * key(t, d));
constexpr auto sequences = m.in(0_c, extent(query, dim<0>));
constexpr auto whole = define<"whole">(sequences) = logsumexp(mine, score);
constexpr auto attended = define<"attended">(sequences, j) = sum(mine, exp(score - whole(m)) * value(t, j));
constexpr auto loss = define<"loss">() = sum(over(m, j), attended(m, j) * attended(m, j));

void run() {
  const float q[2][2] = {{1, 0}, {0, 2}}, k[3][2] = {{1, 1}, {0, 1}, {2, 0}}, v[3][1] = {{1}, {2}, {3}};
  const std::vector<std::int64_t> ends = {0, 2, 3};
  auto step = compile(attended, grad(loss, query), grad(loss, key), grad(loss, value));
  const auto [y, dq, dk, dv] = step(query = q, key = k, value = v, off = ends);
  const double p = 1 / (1 + std::exp(0.5));  // of the second key of the first sequence
  std::printf("5. attended %.4f %.4f, slope of the first query %.4f\n", static_cast<double>(y(0, 0)),
              static_cast<double>(y(1, 0)), static_cast<double>(dq(0, 0)));
  support::expect("attention", std::fabs(static_cast<double>(y(0, 0)) - (1 + p)) < 1e-6);
  support::expect("its gradient", std::fabs(static_cast<double>(dq(0, 0)) + (1 + p) * p * (1 - p)) < 1e-6);
}
}  // namespace fifth

int main() {
  first::run();
  second::run();
  third::run();
  fourth::run();
  fifth::run();
}

/* Output:
1. 14
2. means 3 2, centred -2 -1 3
3. loss 20, slope of one element 6
4. means of rows 0 to 2 and of row 3: 3 10
5. attended 1.3775 3.0000, slope of the first query -0.3237
*/
