// Gradients and gradients of gradients of running folds of tuples, forward and backward, with and without their own
// place: as differences of the value, whatever the values of the state are made of.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include <sheaf/text.hpp>

namespace sheaf::test {
namespace {

struct state {
  const char* name;
  const char* monoid;
  const char* result;  // RANGE: the fold's
};
constexpr state states[] = {
    {"affine", "f((a, b), (c, d)) = tuple(a * c, c * b + d) identity tuple(1, 0) in_order",
     "get<1>(fold(f, RANGE, tuple(x(s), v(s))))"},
    {"affine_with_its_slope", "f((a, b), (c, d)) = tuple(a * c, c * b + d) identity tuple(1, 0) in_order",
     "get<1>(fold(f, RANGE, tuple(x(s), v(s)))) * (1 + get<0>(fold(f, RANGE, tuple(x(s), v(s)))))"},
    {"welford",
     "f((n, a, p), (k, b, q)) = tuple(n + k, a + (b - a) * (k / maximum(n + k, 1)), "
     "p + q + (b - a) * (b - a) * n * (k / maximum(n + k, 1))) identity tuple(0, 0, 0)",
     "get<2>(fold(f, RANGE, tuple(1, x(s), 0))) + v(t) * get<1>(fold(f, RANGE, tuple(1, x(s), 0)))"},
    {"weighted_welford",
     "f((n, a, p), (k, b, q)) = tuple(n + k, a + (b - a) * (k / maximum(n + k, 1)), "
     "p + q + (b - a) * (b - a) * n * (k / maximum(n + k, 1))) identity tuple(0, 0, 0)",
     "get<2>(fold(f, RANGE, tuple(1 + v(s), x(s), 0)))"},
    {"scaled_sum",
     "f((m, s), (k, u)) = tuple(maximum(m, k), s * exp(m - maximum(m, k)) + u * exp(k - maximum(m, k))) "
     "identity tuple(-1e300, 0)",
     "log(1 + get<1>(fold(f, RANGE, tuple(x(s), v(s)))))"},
    {"largest_with_its_place",
     "f((m, p), (k, q)) = tuple(select(m < k || (m == k && p < q), k, m), select(m < k || (m == k && p < q), q, p)) "
     "identity tuple(-100, -1)",
     "get<0>(fold(f, RANGE, tuple(x(s), s))) * v(t)"},
    {"complex_product", "f((u, v), (p, q)) = tuple(u * p - v * q, u * q + v * p) identity tuple(1, 0)",
     "get<0>(fold(f, RANGE, tuple(x(s), v(s)))) * get<1>(fold(f, RANGE, tuple(x(s), v(s))))"},
    {"matrix_product",
     "f((a, b, c, d), (e, g, h, i)) = tuple(a * e + b * h, a * g + b * i, c * e + d * h, c * g + d * i) "
     "identity tuple(1, 0, 0, 1) in_order",
     "get<1>(fold(f, RANGE, tuple(x(s), v(s), 0.5 - x(s), 1)))"},
    {"quaternion_product",
     "f((a, b, c, d), (e, g, h, i)) = tuple(a * e - b * g - c * h - d * i, a * g + b * e + c * i - d * h, "
     "a * h - b * i + c * e + d * g, a * i + b * h - c * g + d * e) identity tuple(1, 0, 0, 0) in_order",
     "get<1>(fold(f, RANGE, tuple(x(s), v(s), 0.5 - x(s), 0.3)))"},
};
struct extent_of_range {
  const char* name;
  const char* text;
};
constexpr extent_of_range ranges[] = {{"forward", "s.in(0, t + 1)"},
                                      {"forward_exclusive", "s.in(0, t)"},
                                      {"forward_late", "s.in(0, t - 1)"},
                                      {"backward", "s.in(t, extent(x, 0))"},
                                      {"backward_exclusive", "s.in(t + 1, extent(x, 0))"}};

std::string program_of(const state& of, const char* range, bool twice) {
  std::string result = of.result;
  for (std::size_t at; (at = result.find("RANGE")) != std::string::npos;) result.replace(at, 5, range);
  const std::string begun = std::string("input x: f64[?]\ninput v: f64[?]\nmonoid ") + of.monoid +
                            "\ny(t.in(0, extent(x, 0))) = " + result + "\n";
  if (!twice) return begun + "loss = sum(t, y(t) * v(t) * y(t))\noutput loss, grad(loss, x), grad(loss, v)";
  return begun + "value = sum(t, y(t) * v(t) * y(t))\ndx = grad(value, x)\nloss = sum(t, dx(t) * (x(t) + v(t)))\n"
                 "output loss, grad(loss, x), grad(loss, v)";
}

void expect_as_differences(const std::string& text, std::int64_t size) {
  SCOPED_TRACE(text);
  const text_program p(text);
  array<double, 1> x(size), v(size);
  for (std::int64_t k = 0; k < size; ++k)
    x(k) = 0.3 + 0.01 * static_cast<double>(k * 37 % 67), v(k) = 0.9 - 0.01 * static_cast<double>(k * 29 % 59);
  const std::vector<named_argument> arguments{{"x", x}, {"v", v}};
  const auto loss = [&] { return p(arguments)[0].as<double, 0>().data[0]; };
  const auto results = p(arguments);
  for (const int by : {0, 1}) {
    array<double, 1>& at = by == 0 ? x : v;
    const view<double, 1> found = results[static_cast<std::size_t>(by) + 1].as<double, 1>();
    for (std::int64_t k = 0; k < size; ++k) {
      const double kept = at(k), step = 1e-5;
      at(k) = kept + step;
      const double above = loss();
      at(k) = kept - step;
      const double slope = (above - loss()) / (2 * step);
      at(k) = kept;
      EXPECT_NEAR(found(k), slope, 1e-6 * std::max(1.0, std::abs(slope))) << (by == 0 ? "x" : "v") << " at " << k;
    }
  }
}

struct running_states : ::testing::TestWithParam<std::tuple<state, extent_of_range>> {};
TEST_P(running_states, as_differences) {
  const auto& [of, range] = GetParam();
  expect_as_differences(program_of(of, range.text, false), 1);
  expect_as_differences(program_of(of, range.text, false), 9);
}
TEST_P(running_states, twice) {
  const auto& [of, range] = GetParam();
  expect_as_differences(program_of(of, range.text, true), 7);
}
INSTANTIATE_TEST_SUITE_P(rows, running_states,
                         ::testing::Combine(::testing::ValuesIn(states), ::testing::ValuesIn(ranges)),
                         [](const auto& one) {
                           return std::string(std::get<0>(one.param).name) + "_" + std::get<1>(one.param).name;
                         });

// Along either axis of a matrix, in f32, and up to a place only: what comes after it gives nothing, be it infinite.
TEST(running_states_of_rows, along_both_axes) {
  const std::string monoid = "monoid f((u, v), (p, q)) = tuple(u * p - v * q, u * q + v * p) identity tuple(1, 0)\n";
  const text_program p("input x: f32[?, ?]\n" + monoid +
                       "down(t.in(0, extent(x, 0)), j.in(0, extent(x, 1))) = get<0>(fold(f, s.in(0, t + 1), "
                       "tuple(x(s, j), 0.5)))\n"
                       "across(j.in(0, extent(x, 0)), t.in(0, extent(x, 1))) = get<0>(fold(f, s.in(0, t + 1), "
                       "tuple(x(j, s), 0.5)))\n"
                       "a = sum(over(t, j), down(t, j))\nb = sum(over(j, t), across(j, t))\n"
                       "output grad(a, x), grad(b, x)");
  array<float, 2> x(6, 5), turned(5, 6);
  for (std::int64_t i = 0; i < 6; ++i)
    for (std::int64_t k = 0; k < 5; ++k) x(i, k) = turned(k, i) = 0.1f * static_cast<float>((i * 7 + k * 3) % 11);
  const auto found = p({{"x", x}}), other = p({{"x", turned}});
  for (std::int64_t i = 0; i < 6; ++i)
    for (std::int64_t k = 0; k < 5; ++k) {
      const float down = found[0].as<float, 2>()(i, k), across = other[1].as<float, 2>()(k, i);
      EXPECT_NEAR(down, across, 1e-5f * std::max(1.0f, std::abs(down))) << i << ", " << k;
    }
}
TEST(running_states_of_rows, nothing_of_what_is_infinite) {
  const text_program p("input x: f64[?]\ninput v: f64[?]\n"
                       "monoid f((a, b), (c, d)) = tuple(a * c, c * b + d) identity tuple(1, 0) in_order\n"
                       "y(t.in(0, extent(x, 0))) = get<1>(fold(f, s.in(0, t + 1), tuple(x(s), v(s))))\n"
                       "loss = sum(t.in(0, 3), y(t))\noutput grad(loss, x), grad(loss, v)");
  array<double, 1> x(6), v(6);
  for (std::int64_t k = 0; k < 6; ++k) x(k) = 2, v(k) = 1;
  x(4) = std::numeric_limits<double>::infinity();
  const auto found = p({{"x", x}, {"v", v}});
  const double by_x[] = {0, 3, 3, 0, 0, 0}, by_v[] = {7, 3, 1, 0, 0, 0};
  for (std::int64_t k = 0; k < 6; ++k) {
    EXPECT_EQ((found[0].as<double, 1>()(k)), by_x[k]) << k;
    EXPECT_EQ((found[1].as<double, 1>()(k)), by_v[k]) << k;
  }
}

}  // namespace
}  // namespace sheaf::test
