// The checks of by_name.hpp: kernels against the reference, derivatives against differences.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>

#include <coverage/by_name.hpp>
#include <coverage/error_bounds.hpp>
#include <coverage/instead.hpp>

namespace sheaf::test {

namespace {

double largest(const values& v, double least = 1) {
  double most = least;
  for (const double x : v.numbers)
    if (std::isfinite(x)) most = std::max(most, std::abs(x));
  return most;
}
double inner(const values& a, const values& b) {
  double total = 0;
  for (std::size_t i = 0; i < a.numbers.size(); ++i) total += a.numbers[i] * b.numbers[i];
  return total;
}
bool finite(const values& v) {
  return std::all_of(v.numbers.begin(), v.numbers.end(), [](double x) { return std::isfinite(x); });
}

// Some thousand roundings of the largest number on the way: integers and booleans exactly.
constexpr double roundings = 0x1p16;
bool near(double a, double b, double allowed) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b || std::abs(a - b) <= allowed;
}
void expect_same(const values& found, const values& expected, double unit, const std::string& what) {
  ASSERT_EQ(found.extents, expected.extents) << what;
  const double allowed = is_floating(found.type) ? roundings * unit * largest(expected) : 0;
  for (std::size_t i = 0; i < found.numbers.size(); ++i)
    ASSERT_TRUE(near(found.numbers[i], expected.numbers[i], allowed))
        << what << ", element " << i << ": kernel " << found.numbers[i] << ", reference " << expected.numbers[i];
}

// Numbers of f64 as they are; those of other types become f64 exactly.
void expect_same_bits(const values& found, const values& elsewhere, const std::string& what) {
  ASSERT_EQ(found.extents, elsewhere.extents) << what;
  for (std::size_t i = 0; i < found.numbers.size(); ++i) {
    const double a = found.numbers[i], b = elsewhere.numbers[i];
    ASSERT_TRUE(std::memcmp(&a, &b, sizeof a) == 0 || (std::isnan(a) && std::isnan(b)))
        << what << ", element " << i << " depends on the width of registers: " << a << " and " << b;
  }
}

// Both backends of one program, its text where they differ; of the processor's kernels also those for AVX2.
struct both_ways {
  by_name kernels, slow;
  std::unique_ptr<by_name> narrow;  // null: another backend runs the kernels
  explicit both_ways(const std::vector<std::int32_t>& words)
      : kernels(words, jit::backend::chosen, options{.determinism = determinism::strict}),
        slow(words, jit::backend::reference) {
    const options of_avx2{.determinism = determinism::strict, .target = "x86-64-v3"};
    if (!run_instead) narrow = std::make_unique<by_name>(words, jit::backend::chosen, of_avx2);
  }
  std::vector<values> operator()(const table& given, const char* what) const {
    std::vector<values> found = kernels(given);
    const std::vector<values> elsewhere = narrow ? (*narrow)(given) : found;
    for (std::size_t i = 0; i < found.size(); ++i)
      expect_same_bits(found[i], elsewhere[i], std::string(what) + ", output " + std::to_string(i));
    const std::vector<values> expected = slow(given);
    for (std::size_t i = 0; i < found.size(); ++i) {
      expect_same(found[i], expected[i], found[i].type == element::f64 ? 0x1p-53 : 0x1p-24,
                  std::string(what) + ", output " + std::to_string(i));
      if (testing::Test::HasFatalFailure()) ADD_FAILURE() << text();
    }
    return found;
  }
  std::string text() const { return std::string("of the program\n") + kernels.text(); }
};

// x moved along a direction.
table moved(table data, const std::string& by, const values& along, double step) {
  values& x = data[by];
  for (std::size_t i = 0; i < x.numbers.size(); ++i) x.numbers[i] += step * along.numbers[i];
  return data;
}
// The derivative of output `which` along a direction: differences of fourth order, and of second order with a smaller
// step, for where a maximum changes hands within the wide one.
struct difference {
  values wide, narrow;
};
difference differences(const by_name& f, const table& data, const std::string& by, const values& along,
                       std::size_t which) {
  constexpr double h = 1e-4, fine = 1e-5;
  const auto at = [&](double step) { return f(moved(data, by, along, step))[which]; };
  const values a = at(-2 * h), b = at(-h), c = at(h), e = at(2 * h), below = at(-fine), above = at(fine);
  difference out{a, a};
  for (std::size_t i = 0; i < a.numbers.size(); ++i) {
    out.wide.numbers[i] = (a.numbers[i] - 8 * b.numbers[i] + 8 * c.numbers[i] - e.numbers[i]) / (12 * h);
    out.narrow.numbers[i] = (above.numbers[i] - below.numbers[i]) / (2 * fine);
  }
  return out;
}
void expect_derivative(const values& found, const difference& expected, const std::string& what) {
  ASSERT_EQ(found.extents, expected.wide.extents) << what;
  const double allowed = 1e-6 * largest(found, 1e-3);
  for (std::size_t i = 0; i < found.numbers.size(); ++i)
    ASSERT_TRUE(near(found.numbers[i], expected.wide.numbers[i], allowed) ||
                near(found.numbers[i], expected.narrow.numbers[i], allowed))
        << what << ", element " << i << ": " << found.numbers[i] << ", differences " << expected.wide.numbers[i]
        << " and " << expected.narrow.numbers[i];
}

}  // namespace

values check_backends(const subject& s, table data) {
  SCOPED_TRACE(s.name);
  const both_ways value(s.value);
  const values y = value(data, "value")[0];
  if (s.first.empty()) return y;
  add_directions(s, y, data);
  both_ways{s.first}(data, "vjp and jvp");
  if (!s.second.empty()) both_ways{s.second}(data, "second derivative");
  return y;
}

namespace {

void check_first(const both_ways& value, const both_ways& first, const subject& s, const table& data) {
  const values &v = data.at("tangent_" + s.by), &c = data.at("cotangent");
  const std::vector<values> d = first(data, "vjp and jvp");
  ASSERT_TRUE(finite(d[0]) && finite(d[1])) << "a derivative that is not finite";
  expect_derivative(d[1], differences(value.kernels, data, s.by, v, 0), "jvp");
  const double there = inner(d[0], v), back = inner(c, d[1]);
  EXPECT_NEAR(there, back, 1e-11 * std::max(largest(d[0]), largest(d[1])) * static_cast<double>(v.numbers.size()))
      << "<vjp(c), v> against <c, jvp(v)>";
  // Each element of the vjp: <c, y> moved along it.
  values unit = v, found = d[0];
  difference each{found, found};
  for (std::size_t i = 0; i < v.numbers.size(); ++i) {
    std::fill(unit.numbers.begin(), unit.numbers.end(), 0);
    unit.numbers[i] = 1;
    const difference one = differences(value.kernels, data, s.by, unit, 0);
    each.wide.numbers[i] = inner(one.wide, c);
    each.narrow.numbers[i] = inner(one.narrow, c);
  }
  expect_derivative(found, each, "vjp");
}

void check_second(const subject& s, const table& data) {
  const both_ways second(s.second);
  const std::vector<values> h = second(data, "second derivative");
  const difference expected = differences(second.kernels, data, s.by, data.at("tangent_" + s.by), 0);
  expect_derivative(h[1], expected, "gradient of the gradient");
  for (std::size_t i = 0; h.size() > 2 && i < h[1].numbers.size(); ++i)
    ASSERT_TRUE(near(h[1].numbers[i], h[2].numbers[i], 1e-11 * largest(h[1])))
        << "reverse over reverse " << h[1].numbers[i] << ", forward over reverse " << h[2].numbers[i] << ", element "
        << i;
  if (testing::Test::HasFailure()) ADD_FAILURE() << second.text();
}

}  // namespace

values check_derivatives(const subject& s, table data) {
  SCOPED_TRACE(s.name);
  const both_ways value(s.value);
  const values y = value(data, "value")[0];
  EXPECT_TRUE(finite(y)) << "a value that is not finite";
  if (!s.first.empty() && !testing::Test::HasFailure()) {
    add_directions(s, y, data);
    const both_ways first(s.first);
    check_first(value, first, s, data);
    if (!s.second.empty() && !testing::Test::HasFailure()) check_second(s, data);
    if (testing::Test::HasFailure()) ADD_FAILURE() << first.text();
  }
  if (testing::Test::HasFailure()) ADD_FAILURE() << s.name << ": " << value.text();
  return y;
}

void check_everywhere(const subject& s, std::uint64_t seed) {
  table data = some_data(seed, shape::small);
  const values y = check_derivatives(s, data);
  check_error_bounds(s.value, data);
  if (!s.first.empty()) {
    add_directions(s, y, data);
    check_error_bounds(s.first, data);
  }
  if (!testing::Test::HasFailure()) check_on_wide_and_gaps(s, seed);
}

}  // namespace sheaf::test
