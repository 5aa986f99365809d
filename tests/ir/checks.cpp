// The checks of coverage/by_name.hpp, where another backend sees each program once: tests/coverage compares
// their values.
#include <gtest/gtest.h>

#include <coverage/by_name.hpp>
#include <coverage/instead.hpp>

namespace sheaf::test {

values check_backends(const subject& s, table data) {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  const values y = by_name(s.value, jit::backend::reference)(data)[0];
  checked_name = std::string(test->test_suite_name()) + "." + test->name() + "/" + s.name;
  by_name(s.value, jit::backend::chosen)(data);
  if (!s.first.empty()) {
    add_directions(s, y, data);
    by_name(s.first, jit::backend::chosen)(data);
  }
  if (!s.second.empty()) by_name(s.second, jit::backend::chosen)(data);
  checked_name.clear();
  return y;
}

values check_derivatives(const subject& s, table data) { return check_backends(s, std::move(data)); }

void check_everywhere(const subject& s, std::uint64_t seed) { check_on_wide_and_gaps(s, seed); }

}  // namespace sheaf::test
