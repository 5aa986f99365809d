#include "rules.hpp"

#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string_view>

namespace sheaf::test {

namespace {

constexpr double roundings = 0x1p16;  // as in coverage/checks.cpp

std::set<std::string> rules_of(const trial& one) {
  std::set<std::string> list;
  for (const plan::stage& s : one.p->plan.stages) list.insert(s.rules.begin(), s.rules.end());
  return list;
}

bool near(double a, double b, double allowed) {
  return a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= allowed;
}

void expect_near(memory& found, memory& expected, const std::string& what) {
  ASSERT_EQ(found.extents, expected.extents) << what;
  double largest = 1;
  for (std::int64_t i = 0; i < expected.count(); ++i)
    if (const double x = std::abs(expected.real(i)); std::isfinite(x)) largest = std::max(largest, x);
  const double unit = found.type == element::f64 ? 0x1p-53 : 0x1p-24;
  const double allowed = is_floating(found.type) ? roundings * unit * largest : 0;
  for (std::int64_t i = 0; i < expected.count(); ++i)
    ASSERT_TRUE(near(found.real(i), expected.real(i), allowed))
        << what << ", element " << i << ": " << found.real(i) << ", with the rule " << expected.real(i);
}

struct case_of : trial {
  case_of(const graph& source, const std::function<void(trial&)>& give, bool much) : trial(source) {
    force_for_tests = much;
    level = 0;
    give(*this);
  }
  std::int32_t run_plan() {
    make_code();
    return run();
  }
};

}  // namespace

int most_deletions() {
  const char* all = std::getenv("SHEAF_RULES");
  return all != nullptr && std::string_view(all) == "all" ? std::numeric_limits<int>::max() : 16;
}

std::map<std::string, int>& deletions() {
  static std::map<std::string, int> by_rule;
  return by_rule;
}

void expect_without_rules(const std::string& name, const graph& g, const std::function<void(trial&)>& give) {
  std::set<std::string> done;  // the kernels that were run, or would be
  for (const bool much : {false, true}) {
    case_of whole(g, give, much);
    whole.make_plan();
    if (!done.insert(ir::print(whole.p->code)).second) continue;
    std::optional<std::int32_t> state;
    for (const std::string& rule : rules_of(whole)) {
      if (deletions()[rule] >= most_deletions()) continue;
      case_of less(g, give, much);
      less.without = rule.c_str();
      less.make_plan();
      EXPECT_FALSE(rules_of(less).contains(rule));
      ++deletions()[rule];
      if (!done.insert(ir::print(less.p->code)).second) continue;
      const std::string what = name + (much ? ", as if of much data" : "") + ", without " + rule;
      if (!state) state = whole.run_plan();
      ASSERT_EQ(less.run_plan(), *state) << what;
      for (std::size_t k = 0; *state == 0 && k < whole.outputs.size(); ++k)
        expect_near(less.outputs[k], whole.outputs[k], what + ", output " + std::to_string(k));
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

}  // namespace sheaf::test
