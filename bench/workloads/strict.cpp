// strict: what the same bits on every width cost: W6, W8, W9, W3 with all gradients and a row of f64 functions, strict
// over standard, in turn, so that both meet the same machine.
#include "data.hpp"
#include "session.hpp"

namespace sheaf::bench {
namespace {

constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto x = tensor<"x", float, 2>;

template <class Run, class... Outputs>
void compare(const char* what, Run run, Outputs... outputs) {
  session::progress("strict", what, "time");
  const auto standard = compile(outputs...), strict = compile(determinism::strict, outputs...);
  std::vector<double> ratios;
  for (int k = -2; k < 21; ++k) {
    // Whoever comes second finds the caches as the other left them: they take turns.
    double first = 0, second = 0;
    if (k % 2 == 0) {
      first = seconds_of([&] { run(standard); });
      second = seconds_of([&] { run(strict); });
    } else {
      second = seconds_of([&] { run(strict); });
      first = seconds_of([&] { run(standard); });
    }
    if (k >= 0) ratios.push_back(second / first);
  }
  session::progress(nullptr, nullptr, nullptr);
  report("strict", what, median(ratios), "x");
}

}  // namespace

void strict_bits(session& s) {
  if (!s.wants("strict")) return;
  const auto values = noise(-4, 4, 8192, 2048), dy = noise(-1, 1, 8192, 2048);
  auto into = touched(8192, 2048), gradient = touched(8192, 2048);
  constexpr auto squares = define<"squares">() = mean(over(i, j), (x(i, j) - 1_c) * (x(i, j) - 1_c));
  constexpr auto d_squares = grad(squares, x);
  array<float, 0> loss;
  compare(
      "W6:forward+backward", [&](const auto& p) { p(x = values, squares = loss, d_squares = gradient); }, squares,
      d_squares);
  constexpr auto soft = softmax(x, dim<1>);
  constexpr auto d_soft = vjp(soft, x);
  compare("W9:forward", [&](const auto& p) { p(x = values, soft = into); }, soft);
  compare(
      "W9:forward+backward",
      [&](const auto& p) { p(x = values, cotangent(soft) = dy, soft = into, d_soft = gradient); }, soft, d_soft);
  constexpr auto far = logsumexp(x, dim<0>);
  compare("W12:forward", [&](const auto& p) { p(x = values); }, far);
  constexpr auto w = tensor<"w", double, 1>;
  constexpr auto functions = define<"functions">(i) = exp(w(i)) * sin(w(i)) + tanh(w(i));
  array<double, 1> doubles(1 << 18);
  for (std::int64_t k = 0; k < doubles.size(); ++k) doubles(k) = 8 * uniform_at(static_cast<std::uint64_t>(k)) - 4;
  array<double, 1> results(1 << 18);
  compare("functions_f64", [&](const auto& p) { p(w = doubles, functions = results); }, functions);
}

}  // namespace sheaf::bench
