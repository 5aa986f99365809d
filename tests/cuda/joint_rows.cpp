// Scatters whose updates name several indices of the result by data: plans for a GPU
// sort updates by one number of a row.
#include <gtest/gtest.h>

#include <coverage/by_name.hpp>
#include <sheaf/dsl/graph/pack.hpp>
#include <sheaf/jit/pipeline.hpp>

namespace sheaf::test::joint_rows_tests {
namespace {

constexpr auto t = axis<"t">;
constexpr auto k = axis<"k">;
constexpr auto f = axis<"f">;
constexpr auto a = axis<"a">;
constexpr auto b = axis<"b">;
constexpr auto u = tensor<"u", std::int64_t, 2>;
constexpr auto v = tensor<"v", std::int64_t, 2>;
constexpr auto w = tensor<"w", float, 2>;
constexpr auto x = tensor<"x", float, 3>;
constexpr auto here = u(t, k) == a && v(t, k) == b;

constexpr auto counted = define<"counted">(a.in(0_c, 13_c), b.in(0_c, 5_c)) = count(over(t, k), here);
constexpr auto largest = define<"largest">(a.in(0_c, 13_c), b.in(0_c, 5_c)) = max(over(t, k.where(here)), w(t, k));
constexpr auto added = define<"added">(a.in(0_c, 13_c), b.in(0_c, 5_c)) = sum(over(t, k.where(here)), w(t, k));
constexpr auto picked = define<"picked">(t, k, f) = x(u(t, k), v(t, k), f) * x(v(t, k), u(t, k), f);
constexpr auto of_batch = define<"of_batch">(t, a.in(0_c, 13_c), f) = sum(k.where(u(t, k) == a), x(t, k, f));

std::vector<double> drawn(std::int64_t n, std::int64_t from, std::int64_t below) {
  std::vector<double> all;
  for (std::int64_t p = 0; p < n; ++p) all.push_back(static_cast<double>(p * 7919 % 1009 % (below - from) + from));
  return all;
}

// Places outside of the result, on either side, are nobody's: not those of the next row.
TEST(joint_rows, of_two_indices) {
  for (const std::int64_t rows : {3, 70}) {
    const table data = {{"u", integers({rows, 23}, drawn(rows * 23, -2, 16))},
                        {"v", integers({rows, 23}, drawn(rows * 23, -3, 9))},
                        {"w", floats(1, {rows, 23}, -1, 1)}};
    check_backends(value_of("counted", counted), data);
    check_backends(first_order("added", added, w), data);
    check_backends(first_order("largest", largest, w), data);
  }
}
TEST(joint_rows, of_a_gather) {
  const table data = {{"u", integers({9, 20}, drawn(180, 0, 12))}, {"v", integers({9, 20}, drawn(180, 0, 11))},
                      {"x", floats(1, {12, 13, 4}, -1, 1)}};
  check_backends(first_order("picked", picked, x), data);
}
TEST(joint_rows, of_few_batches) {
  const table data = {{"u", integers({3, 200}, drawn(600, 0, 13))}, {"x", floats(1, {3, 200, 7}, -1, 1)}};
  check_backends(first_order("of_batch", of_batch, x), data);
}

template <class Output>
bool are_joint(Output, const std::vector<std::vector<std::int64_t>>& extents, bool strict = false) {
  constexpr auto words = detail::packed<Output>::words;
  plan::call_facts call;
  for (const auto& e : extents) call.inputs.push_back({plan::amounts(e), true});
  call.gpu = true;
  if (strict) call.overrides.determinism = determinism::strict;
  const planned made = plan_program(unpack(words.words), call, "program");
  return made.text.find("stage joint(") != std::string::npos;
}
TEST(joint_rows, of_many_updates) {
  EXPECT_TRUE(are_joint(counted, {{4096, 1024}, {4096, 1024}}));
  EXPECT_FALSE(are_joint(counted, {{4096, 1024}, {4096, 1024}}, true)) << "in the processor's order";
  EXPECT_FALSE(are_joint(counted, {{10, 10}, {10, 10}}));
  EXPECT_FALSE(are_joint(of_batch, {{16, 65536}, {16, 65536, 8}})) << "data names one index";
  EXPECT_FALSE(are_joint(of_batch, {{65536, 16}, {65536, 16, 8}})) << "batches are tasks";
}

}  // namespace
}  // namespace sheaf::test::joint_rows_tests
