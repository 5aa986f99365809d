// The checks of coverage/by_name.hpp, where programs are planned and never run: tests/coverage compares their values.
#include <gtest/gtest.h>

#include <coverage/by_name.hpp>

#include "checks.hpp"

namespace sheaf::test {

std::string& subject_name() {
  static std::string name;
  return name;
}

values check_backends(const subject& s, table data) {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  subject_name() = std::string(test->test_suite_name()) + "." + test->name() + "/" + s.name;
  const values y = by_name(s.value, jit::backend::reference)(data)[0];
  by_name(s.value, jit::backend::chosen)(data);
  if (!s.first.empty()) {
    const by_name first(s.first, jit::backend::chosen);
    data["tangent_" + s.by] = data.at(s.by);
    data["cotangent"] = y;
    for (const std::string& name : first.inputs())
      if (name.rfind("cotangent_", 0) == 0) data[name] = y;
    first(data);
  }
  if (!s.second.empty()) by_name(s.second, jit::backend::chosen)(data);
  subject_name().clear();
  return y;
}

values check_derivatives(const subject& s, table data) { return check_backends(s, std::move(data)); }

void check_everywhere(const subject& s, std::uint64_t seed) {
  subject first = s;
  first.second.clear();
  check_backends(first, some_data(seed, shape::wide));
  check_backends(s, some_data(seed, shape::gaps));
}

}  // namespace sheaf::test
