// Scatters of one key walk one list of their updates, which has what each of them needs: values, indices or nothing.
#include <gtest/gtest.h>

#include <stdexcept>

#include <coverage/by_name.hpp>
#include <sheaf/dsl/graph/pack.hpp>
#include <sheaf/dsl/text/parse.hpp>
#include <sheaf/jit/pipeline.hpp>

#include "machine.hpp"

namespace sheaf::test::shared_lists_tests {
namespace {

const std::string inputs = "input k: i64[?]\ninput w: f32[?]\ninput v: f32[?]\ninput x: f32[?, ?]\naxis n: 4200\n";
const std::string sums = "s(n) = sum(i.where(k(i) == n), w(i))\n";
const std::string counts = "c(n) = sum(i.where(k(i) == n), 1)\n";
const std::string others = "t(n) = sum(i.where(k(i) == n), v(i) * v(i))\nhi(n) = max(i.where(k(i) == n), w(i))\n";
const std::string rows = "r(n, f) = sum(i.where(k(i) == n), w(i) * x(i, f))\n";

bool reads(const std::string& program, const std::string& name) {
  return program.find(name + (name == "x" ? "(i, f)" : "(i)")) != std::string::npos;
}
graph graph_of(const std::string& program) {
  std::string text = inputs + program;
  for (const std::string name : {"v", "x", "w"})
    if (!reads(program, name)) {
      const std::size_t at = text.find("input " + name), end = text.find('\n', at);
      text.erase(at, end + 1 - at);
    }
  graph g = parse(text.data(), static_cast<int>(text.size()));
  if (g.failed()) throw std::runtime_error(std::string(g.error.data(), static_cast<std::size_t>(g.error.size())));
  return g;
}

int lists_of(const std::string& program, std::int64_t updates) {
  const graph g = graph_of(program);
  plan::call_facts call;
  for (int k = 0; k < g.inputs.size(); ++k) {
    std::vector<std::int64_t> extents{updates};
    if (g.inputs[k].rank == 2) extents.push_back(3);
    call.inputs.push_back({plan::amounts(extents), true});
  }
  call.gpu = call.force_for_tests = true;
  const std::string plan = plan_program(g, call, "program").text;
  int count = 0;
  for (std::size_t at = 0; (at = plan.find("stage inverse(", at)) != std::string::npos; ++at) ++count;
  return count;
}

void check(const std::string& program, std::int64_t updates) {
  const packed_list packed = pack(graph_of(program));
  std::vector<double> keys;
  for (std::int64_t n = 0; n < updates; ++n)
    keys.push_back(static_cast<double>(n % 3 == 0 ? 299 : (n * n * 7919 + 13 * n) % 320));  // some in no row
  table data = {{"k", integers({updates}, keys)}};
  if (reads(program, "w")) data["w"] = floats(1, {updates}, -1, 1);
  if (reads(program, "v")) data["v"] = floats(2, {updates}, -1, 1);
  if (reads(program, "x")) data["x"] = floats(3, {updates, 3}, -1, 1);
  check_backends({"s", {packed.words.begin(), packed.words.end()}, {}, {}, ""}, data);
}

// Letters of the outputs decide whether a program has what is for much data, see machine.cpp: each order is both ways.
TEST(shared_lists, of_one_key) {
  const std::string named = "nil = 0\n";
  for (const std::string& program :
       {sums + counts + others + "output s, c, t, hi", counts + sums + others + "output c, s, t, hi",
        counts + rows + sums + "output c, r, s", rows + others + "output r, t, hi",
        sums + counts + "m(n) = s(n) / cast<f32>(maximum(c(n), 1))\noutput m"}) {
    EXPECT_EQ(lists_of(program, 2000), 1) << program;
    for (const std::int64_t updates : {1, 300, 2100}) {
      check(program, updates);
      const std::size_t at = program.find("output ");
      check(program.substr(0, at) + named + "output nil, " + program.substr(at + 7), updates);
    }
  }
}
TEST(shared_lists, not_of_others) {
  EXPECT_EQ(lists_of(sums + "t(n) = sum(i.where(k(i) + 1 == n), v(i))\noutput s, t", 2000), 2);
}

}  // namespace
}  // namespace sheaf::test::shared_lists_tests
