// Running folds of states of several values, and the recurrences that gradients are: along rows in the lanes of a warp,
// down columns a chain a lane, both in blocks where chains are few.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>

#include <coverage/by_name.hpp>
#include <sheaf/dsl/graph/pack.hpp>
#include <sheaf/dsl/text/parse.hpp>
#include <sheaf/jit/cuda/emit.hpp>
#include <sheaf/jit/pipeline.hpp>

#include "machine.hpp"

namespace sheaf::test::states_tests {
namespace {

const std::string maps =
    "monoid affine((a1, b1), (a2, b2)) = tuple(a1 * a2, a2 * b1 + b2) identity tuple(1, 0) in_order\n";
const std::string along_rows = maps +
    "h(n, t.in(0, extent(x, 1))) = get<1>(fold(affine, s.in(0, t + 1), tuple(a(n, s), x(n, s))))\n";
const std::string backward = maps +
    "h(n, t.in(0, extent(x, 1))) = get<1>(fold(affine, s.in(t, extent(x, 1)), tuple(a(n, s), x(n, s))))\n";
const std::string down_columns = maps +
    "h(t.in(0, extent(x, 0)), d) = get<1>(fold(affine, s.in(0, t + 1), tuple(a(s, d), x(s, d))))\n";
const std::string extremum = "h(n, t.in(0, extent(x, 1))) = max(s.in(0, t + 1), x(n, s))\n";
const std::string extremum_down = "h(t.in(0, extent(x, 0)), d) = max(s.in(0, t + 1), x(s, d))\n";
const std::string least_after = "h(n, t.in(0, extent(x, 1))) = min(s.in(t, extent(x, 1)), x(n, s))\n";
const std::string least_after_down = "h(t.in(0, extent(x, 0)), d) = min(s.in(t, extent(x, 0)), x(s, d))\n";
const std::string loss = "l = sum(over(p.in(0, extent(x, 0)), q.in(0, extent(x, 1))), h(p, q) * g(p, q))\n";

std::vector<std::int32_t> words_of_text(const std::string& program) {
  std::string text = "input x: f32[?, ?]\n";
  for (const std::string name : {"a", "g"})
    if (program.find(name + "(") != std::string::npos) text += "input " + name + ": f32[?, ?]\n";
  text += program;
  const graph g = parse(text.data(), static_cast<int>(text.size()));
  if (g.failed()) throw std::runtime_error(std::string(g.error.data(), static_cast<std::size_t>(g.error.size())));
  const auto packed = pack(g);
  return {packed.words.begin(), packed.words.end()};
}
void check(const std::string& text, std::int64_t rows, std::int64_t columns) {
  values x = floats(1, {rows, columns}, -1, 1);
  for (std::size_t k = 3; k < x.numbers.size(); k += 5) x.numbers[k] = x.numbers[k - 3];  // ties
  const table data = {{"x", x}, {"a", floats(2, {rows, columns}, -1, 1)}, {"g", floats(3, {rows, columns}, -1, 1)}};
  table own;
  for (const auto& [name, v] : data)
    if (text.find(name + "(") != std::string::npos) own.insert({name, v});
  check_backends({"h", words_of_text(text), {}, {}, ""}, own);
}

void check_ties(const std::string& text, const values& x) {
  const table data = {{"x", x}, {"g", floats(3, x.extents, -1, 1)}};
  check_backends({"h", words_of_text(text + loss + "output h, grad(l, x)"), {}, {}, ""}, data);
}

TEST(running_states, values_in_lanes_and_chains) {
  for (const std::string& text : {along_rows, backward, down_columns})
    for (const auto& [rows, columns] : {std::pair{1, 1}, {3, 40}, {5, 300}, {70, 9}, {2, 513}})
      check(text + "output h", rows, columns);
}
TEST(running_states, values_in_blocks) {
  check(along_rows + "output h", 8, 2049);
  check(backward + "output h", 8, 2050);
  check(down_columns + "output h", 530, 33);
}
TEST(running_states, gradients) {
  for (const std::string& text : {along_rows, backward, down_columns})
    for (const auto& [rows, columns] : {std::pair{1, 1}, {3, 40}, {40, 9}, {2, 130}})
      check(text + loss + "output h, grad(l, a), grad(l, x)", rows, columns);
  check(down_columns + loss + "output grad(l, x)", 260, 65);
  for (const std::string& text : {extremum, extremum_down})
    for (const auto& [rows, columns] : {std::pair{1, 1}, {3, 40}, {40, 9}, {3, 130}})
      check(text + loss + "output h, grad(l, x)", rows, columns);
}

// NaN ties with nothing, and what stands before it is an extremum still; infinities do tie. Ties lie in several lanes.
TEST(running_states, ties_with_a_running_extremum) {
  const auto check_places = [](const std::string& text, bool down, std::int64_t places) {
    const std::int64_t rows = down ? places : 2, columns = down ? 2 : places, step = down ? 2 : 1;
    values x = floats(1, {rows, columns}, -1, 1);
    const auto at = [&](std::int64_t place) -> double& { return x.numbers[static_cast<std::size_t>(place * step)]; };
    for (std::int64_t k = 0; k < places; ++k) at(k) = std::floor(at(k) * 4);
    at(places / 2) = std::numeric_limits<double>::infinity();
    at(places / 3) = at(1) = -std::numeric_limits<double>::infinity();
    at(places * 2 / 3) = std::numeric_limits<double>::quiet_NaN();
    check_ties(text, x);
  };
  check_places(extremum, false, 70);
  check_places(extremum, false, 260);
  check_places(extremum_down, true, 130);
  check_places(least_after, false, 130);
  check_places(least_after_down, true, 70);
}

std::string text_of(const std::string& program, std::int64_t rows, std::int64_t columns) {
  const auto words = words_of_text(program);
  const graph g = unpack(words.data());
  const std::vector<std::int64_t> each{rows, columns};
  plan::call_facts call;
  for (int k = 0; k < g.inputs.size(); ++k) call.inputs.push_back({plan::amounts(each), true});
  call.gpu = true;
  const planned p = plan_program(g, call, "program");
  const std::vector<std::vector<std::int64_t>> by_slot(64, each);
  return cuda::emit(p.code, {.compute = 90}, cuda::amounts_by_slot(by_slot)).texts[0];
}
// No chain walks a row by itself, and what blocks keep of each other is carried by as many launches as values need.
TEST(running_states, rows_have_lanes) {
  const std::string rows = text_of(along_rows + "output h", 4096, 8192);
  EXPECT_NE(rows.find("scan_runs<own0_of, false, T>"), std::string::npos) << rows;
  EXPECT_EQ(rows.find("_carried"), std::string::npos) << "each row is a warp's";
  const std::string few = text_of(along_rows + "output h", 16, 1 << 20);
  EXPECT_NE(few.find("_carried"), std::string::npos) << few;
  const std::string gradient = text_of(along_rows + loss + "output grad(l, x)", 4096, 8192);
  EXPECT_EQ(gradient.find("recur_lanes<"), gradient.rfind("recur_lanes<")) << "the prelude's alone";
  EXPECT_NE(gradient.find("scan_runs<turned<"), std::string::npos) << "backward, and in order";
}
// The extremum so far and how many tie with it are folded in one walk, and what the gradient sums in another.
TEST(running_states, folds_share_a_walk) {
  const std::string text = text_of(extremum + loss + "output h, grad(l, x)", 16384, 16384);
  int walks = 0;
  for (std::size_t at = text.find("__global__"); at != std::string::npos;) {
    const std::size_t next = text.find("__global__", at + 1);
    walks += text.substr(at, next - at).find("scan_runs<") != std::string::npos;
    at = next;
  }
  EXPECT_EQ(walks, 2) << text;
}

}  // namespace
}  // namespace sheaf::test::states_tests
