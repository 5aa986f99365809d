// The checks of coverage/by_name.hpp, for emulated kernels: each program against the reference. That derivatives are
// right is the graph's affair and tested there.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include <coverage/by_name.hpp>

#include "machine.hpp"

namespace sheaf::test {

namespace {

double largest(const values& v) {
  double most = 1;
  for (const double x : v.numbers)
    if (std::isfinite(x)) most = std::max(most, std::abs(x));
  return most;
}

// Some thousand roundings of the largest number on the way: integers and booleans exactly.
constexpr double roundings = 0x1p16;
void expect_same(const values& found, const values& expected, const std::string& what) {
  ASSERT_EQ(found.extents, expected.extents) << what;
  const double unit = found.type == element::f64 ? 0x1p-53 : 0x1p-24;
  const double allowed = is_floating(found.type) ? roundings * unit * largest(expected) : 0;
  for (std::size_t i = 0; i < found.numbers.size(); ++i) {
    const double a = found.numbers[i], b = expected.numbers[i];
    ASSERT_TRUE(a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= allowed)
        << what << ", element " << i << ": kernel " << a << ", reference " << b;
  }
}

std::vector<values> compared(const std::vector<std::int32_t>& words, const table& data, const char* what) {
  emulated_machine& machine = emulated_machine::only();
  const by_name kernels(words, jit::backend::chosen);
  machine.values_count = machine.built();
  const std::vector<values> found = kernels(data);
  machine.values_count = true;
  if (!machine.built()) return found;  // the extents are right
  const by_name slow(words, jit::backend::reference);
  const std::vector<values> expected = slow(data);
  for (std::size_t i = 0; i < found.size(); ++i)
    expect_same(found[i], expected[i], std::string(what) + ", output " + std::to_string(i));
  if (testing::Test::HasFatalFailure()) ADD_FAILURE() << kernels.text();
  return expected;
}

}  // namespace

values check_backends(const subject& s, table data) {
  SCOPED_TRACE(s.name);
  const values y = compared(s.value, data, "value")[0];
  if (s.first.empty()) return y;
  add_directions(s, y, data);
  compared(s.first, data, "vjp and jvp");
  if (!s.second.empty()) compared(s.second, data, "second derivative");
  return y;
}

values check_derivatives(const subject& s, table data) { return check_backends(s, std::move(data)); }

void check_everywhere(const subject& s, std::uint64_t seed) { check_on_wide_and_gaps(s, seed); }

}  // namespace sheaf::test
