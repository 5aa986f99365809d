#include <sheaf/jit/plan/machine.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <sstream>

namespace sheaf::inline v0_1::plan {

namespace {

struct row {
  const char* name;
  double machine::* value;
};
constexpr row rows[] = {{"read_one", &machine::read_one},
                        {"read_all", &machine::read_all},
                        {"write_one", &machine::write_one},
                        {"write_all", &machine::write_all},
                        {"copy_one", &machine::copy_one},
                        {"copy_all", &machine::copy_all},
                        {"wake", &machine::wake},
                        {"operation", &machine::operation},
                        {"second_cache", &machine::second_cache},
                        {"last_cache", &machine::last_cache}};

}  // namespace

double machine::time(double read, double written) const {
  return std::max({read / read_all, written / write_all, (read + written) / copy_all});
}

machine machine_of(const std::string& text) {
  machine m;
  std::istringstream lines(text);
  std::string name;
  double value = 0;
  while (lines >> name >> value)
    for (const row& r : rows)
      if (name == r.name && std::isfinite(value) && value > 0) m.*r.value = value;
  return m;
}

std::string text_of(const machine& m) {
  std::string text;
  for (const row& r : rows) {
    char line[64];
    std::snprintf(line, sizeof line, "%s %.4g\n", r.name, m.*r.value);
    text += line;
  }
  return text;
}

}  // namespace sheaf::inline v0_1::plan
