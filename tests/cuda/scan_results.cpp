// Maps of running results that are the scan itself: running means, functions of running sums and products, gradients
// of running extrema, along rows, down columns and in blocks.
#include <gtest/gtest.h>

#include <stdexcept>

#include <coverage/by_name.hpp>
#include <sheaf/dsl/graph/pack.hpp>
#include <sheaf/dsl/text/parse.hpp>
#include <sheaf/jit/pipeline.hpp>

#include "machine.hpp"

namespace sheaf::test::scan_results_tests {
namespace {

graph graph_of(const std::string& program) {
  const std::string text =
      "input x: f32[?, ?]\ninput w: f32[?, ?]\naxis i: extent(x, 0)\naxis j: extent(x, 1)\n" + program;
  graph g = parse(text.data(), static_cast<int>(text.size()));
  if (g.failed()) throw std::runtime_error(std::string(g.error.data(), static_cast<std::size_t>(g.error.size())));
  return g;
}
std::string plan_of(const std::string& program, std::int64_t rows, std::int64_t columns) {
  plan::call_facts call;
  for (int k = 0; k < 2; ++k) call.inputs.push_back({plan::amounts(std::vector<std::int64_t>{rows, columns}), true});
  call.gpu = true;
  return plan_program(graph_of(program), call, "program").text;
}
void check(const std::string& program, std::int64_t rows, std::int64_t columns) {
  const packed_list packed = pack(graph_of(program));
  values x = floats(1, {rows, columns}, -1, 1);
  for (std::size_t k = 3; k < x.numbers.size(); k += 5) x.numbers[k] = x.numbers[k - 3];  // ties
  const table data = {{"x", x}, {"w", floats(2, {rows, columns}, -1, 1)}};
  check_backends({"y", {packed.words.begin(), packed.words.end()}, {}, {}, ""}, data);
}

const std::string mean = "y(i, j) = sum(t.in(0, j + 1), x(i, t)) / cast<f32>(j + 1) * w(i, j)\noutput y";
const std::string mean_down = "y(i, j) = sum(t.in(0, i + 1), x(t, j)) / cast<f32>(i + 1) * w(i, j)\noutput y";
const std::string rest = "y(i, j) = w(i, j) - exp(sum(t.in(j, extent(x, 1)), x(i, t) * w(i, t)))\noutput y";
const std::string count = "y(i, j) = cast<f32>(sum(t.in(0, j + 1).where(x(i, t) > 0), 1)) * w(i, j)\noutput y";
const std::string extremum = "m(i, j) = max(t.in(0, j + 1), x(i, t))\n"
                             "y = sum(over(i, j), m(i, j) * w(i, j))\noutput y, grad(y, x)";
const std::string extremum_down = "m(i, j) = max(t.in(0, i + 1), x(t, j))\n"
                                  "y = sum(over(i, j), m(i, j) * w(i, j))\noutput y, grad(y, x)";

TEST(scan_results, are_functions_of_running_folds) {
  for (const std::string& text : {mean, mean_down, rest, count})
    for (const auto& [rows, columns] : {std::pair{1, 1}, {3, 40}, {5, 300}, {70, 9}}) check(text, rows, columns);
}
TEST(scan_results, gradients_of_running_extrema) {
  for (const std::string& text : {extremum, extremum_down})
    for (const auto& [rows, columns] : {std::pair{1, 1}, {3, 40}, {4, 130}, {70, 9}}) check(text, rows, columns);
}
TEST(scan_results, in_blocks) {
  check(mean, 2, 5000);
  check(mean_down, 2100, 3);
  check(rest, 2, 5000);
}
// One pass stores them, and no stage what runs alone, but for an extremum that the program has itself.
TEST(scan_results, are_stored_by_the_scan) {
  for (const std::string& text : {mean, mean_down, rest, count, extremum, extremum_down}) {
    const std::string plan = plan_of(text, 4096, 4096);
    EXPECT_NE(plan.find("a function of each result is stored"), std::string::npos) << plan;
    EXPECT_EQ(plan.find("stage scanned") != std::string::npos, text.starts_with("m")) << plan;
    EXPECT_EQ(plan.find("stage recurrence"), std::string::npos) << plan;
  }
}

}  // namespace
}  // namespace sheaf::test::scan_results_tests
