// The programs of tests/coverage, and those of algorithms.cpp, without each rule of the planner that applied to them:
// a rule is deleted from the first 16 programs that it applies to, or from all; no rule is left out.
//
//   [SHEAF_RULES=all] test_rules [--gtest_filter=...]
#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>

#include <coverage/instead.hpp>
#include <sheaf/dsl/graph/pack.hpp>
#include <sheaf/jit/plan/rules.hpp>

#include "rules.hpp"

namespace {

using namespace sheaf;
using namespace sheaf::test;

// False: outside of a check the values count, and the reference gives them.
bool run_without_rules(const std::vector<std::int32_t>& words, const sheaf_tensor* tensors) {
  if (checked_name.empty()) return false;
  const graph g = unpack(words.data());
  expect_without_rules(checked_name, g, [&](trial& to) {
    for (int i = 0; i < g.inputs.size(); ++i) {
      memory& m = to.inputs[static_cast<std::size_t>(i)];
      m = memory::dense(g.inputs[i].type, {tensors[i].extents, tensors[i].extents + g.inputs[i].rank});
      if (m.count() > 0)
        std::memcpy(m.bytes.data(), tensors[i].data, static_cast<std::size_t>(m.count() * row(m.type).bytes));
    }
  });
  return true;
}

// Of rules that only a GPU or an option asks for.
bool is_elsewhere(const std::string& rule) {
  return rule == "segmented tiles" || rule == "rows of slices" || rule == "tie bits" || rule == "one walk" ||
         rule == "atomic scatter";
}

bool all_were_deleted() {
  bool all = true;
  for (const auto& list : {plan::rules(), plan::last_rules()})
    for (const plan::rule& r : list) {
      if (deletions().contains(r.name) || is_elsewhere(r.name)) continue;
      std::printf("no program was planned without the rule %s\n", r.name);
      all = false;
    }
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  run_instead = run_without_rules;
  const bool passed = RUN_ALL_TESTS() == 0, some = testing::GTEST_FLAG(filter) != "*";
  return passed && (some || all_were_deleted()) ? 0 : 1;
}
