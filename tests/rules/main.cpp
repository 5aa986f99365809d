// What any rule of the planner may be: deleted. The programs of tests/coverage are planned without each rule that
// changes a stage of theirs, and their values stay, up to the order of additions.
//
//   test_rules [--gtest_filter=...]
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>
#include <set>

#include <coverage/instead.hpp>
#include <sheaf/dsl/graph/pack.hpp>
#include <sheaf/jit/plan/rules.hpp>

#include "plan_harness.hpp"

namespace {

using namespace sheaf;
using namespace sheaf::test;

constexpr double roundings = 0x1p16;  // as in coverage/checks.cpp

std::map<std::string, int>& deletions() {
  static std::map<std::string, int> by_rule;
  return by_rule;
}

// A program on these data, planned as they are or as if there were much of them.
struct case_of : trial {
  case_of(const graph& source, const sheaf_tensor* tensors, bool much) : trial(source) {
    for (int i = 0; i < g.inputs.size(); ++i) {
      memory& m = inputs[static_cast<std::size_t>(i)];
      m = memory::dense(g.inputs[i].type, {tensors[i].extents, tensors[i].extents + g.inputs[i].rank});
      if (m.count() > 0)
        std::memcpy(m.bytes.data(), tensors[i].data, static_cast<std::size_t>(m.count() * row(m.type).bytes));
    }
    force_for_tests = much;
    level = 0;
  }
};

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

// The values of all plans of a program: with all rules, and without each that applied.
void compare(const graph& g, const sheaf_tensor* tensors, bool much, std::set<std::string>& done) {
  case_of whole(g, tensors, much);
  whole.make();
  if (!done.insert(ir::print(whole.p->code)).second) return;
  const std::int32_t state = whole.run();
  for (const std::string& name : rules_of(whole)) {
    case_of less(g, tensors, much);
    less.without = name.c_str();
    less.make();
    EXPECT_FALSE(rules_of(less).contains(name));
    ++deletions()[name];
    if (!done.insert(ir::print(less.p->code)).second) continue;
    const std::string what = checked_name + (much ? ", as if of much data" : "") + ", without " + name;
    ASSERT_EQ(less.run(), state) << what;
    for (std::size_t k = 0; state == 0 && k < whole.outputs.size(); ++k)
      expect_near(less.outputs[k], whole.outputs[k], what + ", output " + std::to_string(k));
    if (testing::Test::HasFatalFailure()) return;
  }
}

// False: outside of a check the values count, and the reference gives them.
bool run_without_rules(const std::vector<std::int32_t>& words, const sheaf_tensor* tensors) {
  if (checked_name.empty()) return false;
  const graph g = unpack(words.data());
  std::set<std::string> done;
  for (const bool much : {false, true}) compare(g, tensors, much, done);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  run_instead = run_without_rules;
  const bool passed = RUN_ALL_TESTS() == 0;
  for (const plan::rule& r : plan::rules()) std::printf("%5d plans without %s\n", deletions()[r.name], r.name);
  return passed ? 0 : 1;
}
