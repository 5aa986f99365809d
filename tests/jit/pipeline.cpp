// The lists of passes and rules, which docs/architecture.md shows, and what the verifier of plans finds.
#include <fstream>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include <sheaf/dsl/sugar/sugar.hpp>
#include <sheaf/dsl/surface/program.hpp>
#include <sheaf/jit/pipeline.hpp>
#include <sheaf/jit/plan/rules.hpp>
#include <sheaf/jit/plan/verify.hpp>
#include <support/golden.hpp>

namespace sheaf::test::pipeline_tests {
namespace {

constexpr auto x = tensor<"x", float, 2>;
constexpr auto v = tensor<"v", float, 1>;
constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;

template <class... Outputs>
planned plan_of(const std::vector<std::int64_t>& extents, const Outputs&...) {
  return plan_program(detail::build_graph<Outputs...>(),
                      {.inputs = {{plan::amounts(extents), true}}, .unit_outputs = {}, .overrides = {}, .on = {}},
                      "pipeline");
}

planned made() {
  constexpr auto total = define<"total">(i) = sum(j, x(i, j));
  constexpr auto share = define<"share">(i, j) = x(i, j) / total(i);
  return plan_of({1000, 300}, share);
}

void expect_broken(const planned& p, const plan::program_plan& plan, const std::string& words) {
  try {
    plan::verify(p.g, plan);
    ADD_FAILURE() << "expected: " << words;
  } catch (const plan::bad_plan& e) {
    EXPECT_EQ(words, e.what());
  }
}

// What stands between <!-- `name` --> and <!-- /`name` --> in docs/architecture.md is `table`, and is made so where
// golden files are written.
void expect_in_docs(const std::string& name, const std::string& table) {
  const auto path = std::filesystem::path(SHEAF_TEST_DIR) / ".." / "docs" / "architecture.md";
  std::ostringstream read;
  read << std::ifstream(path).rdbuf();
  const std::string text = read.str(), open = "<!-- " + name + " -->\n", close = "<!-- /" + name + " -->";
  const std::size_t from = text.find(open), to = text.find(close);
  ASSERT_TRUE(from != std::string::npos && to != std::string::npos) << path << ": no " << open;
  const std::size_t begin = from + open.size();
  if (golden::updating())
    std::ofstream(path) << text.substr(0, begin) << table << text.substr(to);
  else
    EXPECT_EQ(table, text.substr(begin, to - begin)) << "SHEAF_UPDATE_GOLDEN=1 writes it";
}

TEST(pipeline, docs_show_passes_and_rules) {
  std::string table = "| pass | why it stands here |\n|---|---|\n";
  for (const pass& p : passes()) table += std::string("| ") + p.name + " | " + p.why_here + " |\n";
  expect_in_docs("passes", table);
  table = "| rule | why it is tried here |\n|---|---|\n";
  for (const plan::rule& r : plan::rules()) table += std::string("| ") + r.name + " | " + r.why_here + " |\n";
  expect_in_docs("rules", table);
  table = "| rule | why it is tried here |\n|---|---|\n";
  for (const plan::rule& r : plan::last_rules()) table += std::string("| ") + r.name + " | " + r.why_here + " |\n";
  expect_in_docs("last rules", table);
}

TEST(pipeline, passes_and_rules_have_names_and_reasons) {
  std::set<std::string> names;
  for (const pass& p : passes()) {
    EXPECT_TRUE(names.insert(p.name).second) << p.name;
    EXPECT_STRNE(p.why_here, "");
  }
  std::vector<plan::rule> rules(plan::rules().begin(), plan::rules().end());
  rules.insert(rules.end(), plan::last_rules().begin(), plan::last_rules().end());
  for (const plan::rule& r : rules) {
    EXPECT_TRUE(names.insert(r.name).second) << r.name;
    EXPECT_STRNE(r.why_here, "");
    EXPECT_NE(r.on_stage == nullptr, r.on_reduction == nullptr) << r.name;
  }
}

TEST(pipeline, the_rules_that_fired_are_in_the_plan) {
  constexpr auto running = define<"running">(i) = sum(j.in(0_c, i + 1_c), v(j)) - v(i);
  const planned p = plan_of({100000}, running);
  EXPECT_NO_THROW(plan::verify(p.g, p.plan));
  EXPECT_NE(p.text.find("rules: scan"), std::string::npos) << p.text;
}

TEST(pipeline, broken_plans_are_found) {
  const planned p = made();
  plan::program_plan broken = p.plan;
  broken.stages.back().lanes = 3;
  expect_broken(p, broken, "plan: lanes: stage share: expected a power of two, found 3");
  broken = p.plan;
  broken.stages.back().form = plan::scan_form{};
  expect_broken(p, broken, "plan: form: stage share: expected that of map");
  broken = p.plan;
  broken.stages.back().vector = broken.stages.back().loops.front();
  expect_broken(p, broken, "plan: loops: stage share: expected lanes in the innermost loop");
  broken = p.plan;
  broken.stages.back().indices.pop_back();
  expect_broken(p, broken, "plan: loops: stage share: expected a loop for each index");
  broken = p.plan;
  broken.stages.back().loops.clear();
  broken.stages.back().indices.pop_back();
  expect_broken(p, broken, "plan: scope: stage share: expected a value of its indices");
  broken = p.plan;
  broken.kernels.back().stages.clear();
  expect_broken(p, broken, "plan: kernels: stage share: expected one kernel, found 0");
}

}  // namespace
}  // namespace sheaf::test::pipeline_tests
