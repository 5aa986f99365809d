// Work grows with the size of the input: values, gradients and second derivatives of folds over windows, slices,
// prefixes and keys take four times as long for four times as much, not sixteen times (processor time).
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <string>

#include <sheaf/text.hpp>

namespace sheaf::test {
namespace {

double processor_time() {  // of all threads
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// n elements in n / 8 slices, keys and ranges.
struct inputs {
  explicit inputs(std::int64_t n) : x(n), v(n), off(n / 8 + 1), cut(n / 8, 2), key(n) {
    for (std::int64_t k = 0; k < n; ++k) {
      x(k) = 0.2 + 0.001 * static_cast<double>((k * 37) % 997), v(k) = 0.5 - 0.001 * static_cast<double>(k % 701);
      key(k) = (k * 7919) % (n / 8);
    }
    for (std::int64_t m = 0; m <= n / 8; ++m) off(m) = 8 * m;
    for (std::int64_t m = 0; m < n / 8; ++m) cut(m, 0) = 8 * m, cut(m, 1) = std::min(n, 8 * m + 20);
  }
  array<double, 1> x, v;
  array<std::int64_t, 1> off;
  array<std::int64_t, 2> cut;
  array<std::int64_t, 1> key;
};

double time_of(const text_program& p, std::int64_t n) {
  const inputs in(n);
  std::vector<named_argument> arguments{{"x", in.x}, {"v", in.v}, {"off", in.off}, {"cut", in.cut}, {"key", in.key}};
  p(arguments);
  double least = 1e300;
  for (int k = 0; k < 5; ++k) {
    const double start = processor_time();
    p(arguments);
    least = std::min(least, processor_time() - start);
  }
  return least;
}

std::string program_of(const std::string& y, const std::string& asked) {
  const std::string given =
      "input x: f64[?]\ninput v: f64[?]\ninput off: i64[?]\ninput cut: i64[?, ?]\ninput key: i64[?]\n"
      "used(t) = x(t) * v(t) + cast<f64>(key(t) + off(0) + cut(0, 0))\n" +
      y + "\nloss = sum(m, y(m) * y(m))\n";
  if (asked == "value") return given + "output used, loss";
  if (asked == "gradient") return given + "output used, loss, grad(loss, x)";
  return given + "dx = grad(loss, x)\nslope = sum(t, dx(t) * v(t))\noutput used, grad(slope, x)";
}

struct row {
  const char* name;
  const char* range;   // of the results
  const char* domain;  // of the fold
  const char* element;
};
constexpr row rows[] = {
    {"windows", "m.in(0, extent(x, 0) - 63)", "u.in(0, 64)", "x(m + u)"},
    {"strided_windows", "m.in(0, quotient(extent(x, 0), 2) - 32)", "u.in(0, 64)", "x(2 * m + u)"},
    {"offsets", "m.in(0, extent(off, 0) - 1)", "t.in(off(m), off(m + 1))", "x(t)"},
    {"ranges", "m.in(0, extent(cut, 0))", "t.in(cut(m, 0), cut(m, 1))", "x(t)"},
    {"prefixes", "m.in(0, extent(x, 0))", "t.in(0, m + 1)", "x(t)"},
    {"suffixes", "m.in(0, extent(x, 0))", "t.in(m, extent(x, 0))", "x(t)"},
    {"rolling", "m.in(0, extent(x, 0))", "t.in(maximum(m - key(m) % 64, 0), m + 1)", "x(t)"},
    {"since", "m.in(0, extent(x, 0))", "t.in(m, minimum(m + 1 + key(m) % 64, extent(x, 0)))", "x(t)"},
    {"around", "m.in(0, extent(x, 0))",
     "t.in(maximum(m - key(m) % 64, 0), minimum(m + key(m) % 32, extent(x, 0)))", "x(t)"},
    {"keys", "m.in(0, quotient(extent(x, 0), 8))", "t.where(key(t) == m)", "x(t)"},
};

// The ties of running extrema are counted for each result in second derivatives, and of running logsumexps what comes
// before a place is asked for at each: these grow with the square. Pairs of places in windows that data ends are walked
// for each of their windows in second derivatives of products and logsumexps.
bool grows_with_the_square(const row& r, const std::string& fold, const std::string& asked) {
  const std::string name = r.name;
  if (asked == "second" && name == "since" && (fold == "prod" || fold == "logsumexp")) return true;
  return asked == "second" && (name == "prefixes" || name == "suffixes") && (fold == "max" || fold == "logsumexp");
}

struct growth : ::testing::TestWithParam<std::tuple<row, const char*, const char*>> {};

void expect_linear(const std::string& y, const std::string& asked) {
  const text_program p(program_of(y, asked));
  double small = time_of(p, 8192), large = time_of(p, 32768);
  // Another program beside the test may have slowed the larger one down: what grows with the square does so each time.
  for (int k = 0; k < 16 && large >= 9 * std::max(small, 1e-4); ++k)
    small = time_of(p, 8192), large = time_of(p, 32768);
  EXPECT_LT(large, 9 * std::max(small, 1e-4)) << small << " for 8192, " << large << " for 32768";
}

TEST_P(growth, is_linear) {
  const auto& [r, fold, asked] = GetParam();
  if (grows_with_the_square(r, fold, asked)) GTEST_SKIP() << "a known limit";
  expect_linear(std::string("y(") + r.range + ") = " + fold + "(" + r.domain + ", " + r.element + ")", asked);
}

INSTANTIATE_TEST_SUITE_P(rows, growth,
                         ::testing::Combine(::testing::ValuesIn(rows),
                                            ::testing::Values("sum", "mean", "max", "logsumexp", "prod"),
                                            ::testing::Values("value", "gradient", "second")),
                         [](const auto& one) {
                           return std::string(std::get<0>(one.param).name) + "_" + std::get<1>(one.param) + "_" +
                                  std::get<2>(one.param);
                         });

// Where an extremum stands, and gradients that go to one place. Of slices each is looked for by itself.
struct growth_of_places : ::testing::TestWithParam<std::tuple<row, const char*, const char*>> {};

TEST_P(growth_of_places, is_linear) {
  const auto& [r, ties, asked] = GetParam();
  const std::string place = std::string("argmax<ties::") + ties + ">(" + r.domain + ", " + r.element + ")";
  const std::string extremum = std::string("max<ties::") + ties + ">(" + r.domain + ", " + r.element + ")";
  const bool value = std::string(asked) == "value";
  expect_linear(std::string("y(") + r.range + ") = " + (value ? "cast<f64>(" + place + ")" : extremum), asked);
}

INSTANTIATE_TEST_SUITE_P(rows, growth_of_places,
                         ::testing::Combine(::testing::ValuesIn(rows), ::testing::Values("first", "last"),
                                            ::testing::Values("value", "gradient", "second")),
                         [](const auto& one) {
                           return std::string(std::get<0>(one.param).name) + "_" + std::get<1>(one.param) + "_" +
                                  std::get<2>(one.param);
                         });

// Running folds of tuples: of values that are made of themselves, of others, and of each other.
struct tuple_row {
  const char* name;
  const char* monoid;
  const char* first;  // of the fold
  const char* element;
};
constexpr tuple_row tuples[] = {
    {"affine", "affine((a, b), (c, d)) = tuple(a * c, c * b + d) identity tuple(1, 0) in_order", "get<1>(fold(affine, ",
     "tuple(0.8 * x(t), v(t))"},
    {"welford",
     "welford((n, a, p), (k, b, q)) = tuple(n + k, a + (b - a) * (k / maximum(n + k, 1)), "
     "p + q + (b - a) * (b - a) * n * (k / maximum(n + k, 1))) identity tuple(0, 0, 0)",
     "get<2>(fold(welford, ", "tuple(1, x(t), 0)"},
    {"scaled_sum",
     "scaled((m, s), (k, u)) = tuple(maximum(m, k), s * exp(m - maximum(m, k)) + u * exp(k - maximum(m, k))) "
     "identity tuple(-1e300, 0)",
     "get<1>(fold(scaled, ", "tuple(x(t), 1)"},
    {"complex_product", "turned((u, v), (p, q)) = tuple(u * p - v * q, u * q + v * p) identity tuple(1, 0)",
     "get<0>(fold(turned, ", "tuple(cos(x(t)), sin(x(t)))"},
};
struct growth_of_tuples : ::testing::TestWithParam<std::tuple<tuple_row, bool, const char*>> {};

TEST_P(growth_of_tuples, is_linear) {
  const auto& [r, backward, asked] = GetParam();
  const std::string range = backward ? "t.in(m, extent(x, 0)), " : "t.in(0, m + 1), ";
  const std::string fold = r.first + range + r.element + "))";
  expect_linear(std::string("monoid ") + r.monoid + "\ny(m.in(0, extent(x, 0))) = " + fold, asked);
}

INSTANTIATE_TEST_SUITE_P(rows, growth_of_tuples,
                         ::testing::Combine(::testing::ValuesIn(tuples), ::testing::Bool(),
                                            ::testing::Values("value", "gradient", "second")),
                         [](const auto& one) {
                           return std::string(std::get<0>(one.param).name) +
                                  (std::get<1>(one.param) ? "_suffixes_" : "_prefixes_") + std::get<2>(one.param);
                         });

}  // namespace
}  // namespace sheaf::test
