// Loops whose ranges data decides: their lanes count in 32 bits, in parts; lengths of rows, which no row shares with
// another, have lanes for the whole row; and what sums over nothing come to.
#include <gtest/gtest.h>

#include <coverage/by_name.hpp>
#include <cuda/plan_text.hpp>

#include "machine.hpp"

namespace sheaf::test::data_ranges_tests {
namespace {

constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto m = axis<"m">;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto z = tensor<"z", float, 1>;
constexpr auto len = tensor<"len", std::int64_t, 1>;
constexpr auto cut = tensor<"cut", std::int64_t, 2>;
constexpr auto first_ones = j.in(0_c, len(i));
constexpr auto top = define<"top">(i) = logsumexp(first_ones, x(i, j));
constexpr auto slice = j.in(cut(m, 0_c), cut(m, 1_c));

std::string text_of(const std::vector<std::vector<std::int64_t>>& extents, const std::vector<std::int32_t>& words) {
  plan::call_facts call;
  std::vector<std::vector<std::int64_t>> slots = extents;
  for (const auto& e : extents) call.inputs.push_back({plan::amounts(e), true});
  call.gpu = true;
  const auto planned = plan_program(unpack(words.data()), call, "program");
  return cuda::emit(planned.code, {.texts = 1}, {}).texts[0];
}

TEST(data_ranges, lengths_of_rows) {
  std::vector<double> lengths;
  for (int n = 0; n < 40; ++n) lengths.push_back(n * n * 37 % 301);
  const table data = {{"x", floats(1, {40, 300}, -2, 2)}, {"len", integers({40}, lengths)}};
  check_backends(first_order("top", top, x), data);
  check_backends(value_of("best", define<"best">(i) = argmax(first_ones, x(i, j))), data);
}

// Bounds of empty slices may be any number: a counter of 32 bits must not find a range in them.
TEST(data_ranges, empty_slices_far_away) {
  constexpr double far = 0x1p33;
  const table data = {{"z", floats(1, {500}, -1, 1)},
                      {"cut", integers({5, 2}, {3, 400, far, -far, far + 7, 5, -far, -far, 499, 500})}};
  check_backends(value_of("s", define<"s">(m) = sum(slice, z(j))), data);
  check_backends(value_of("s", define<"s">(m) = max(slice, exp(z(j)))), data);
}

// Fewer lanes than the group has threads, which other loops of the kernel need: those without a lane take no part.
TEST(data_ranges, fewer_lanes_than_threads) {
  std::vector<double> ends;
  for (int n = 0; n < 60; ++n) ends.push_back(n * 7), ends.push_back(n * 7 + n * n % 41);
  const table data = {{"x", floats(1, {60, 300}, -1, 1)}, {"z", floats(2, {500}, -1, 1)},
                      {"cut", integers({60, 2}, ends)}};
  check_backends(value_of("y", define<"y">(m, i) = x(m, i) - sum(slice, z(j))), data);
  const std::string text =
      text_of({{60, 300}, {60, 2}, {500}}, words_of(define<"y">(m, i) = x(m, i) - sum(slice, z(j))));
  EXPECT_NE(text.find("_short += 16)"), std::string::npos) << text;
  EXPECT_NE(text.find("constexpr int T = 32"), std::string::npos) << text;
}

TEST(data_ranges, count_in_32_bits) {
  const std::string text = text_of({{4096}, {4096, 1024}}, words_of(top));
  EXPECT_NE(text.find("_part += 1073741824ll"), std::string::npos) << text;
}
TEST(data_ranges, have_lanes_for_rows) {
  const std::string text = text_of({{65536}, {65536, 1024}}, words_of(top));
  EXPECT_EQ(text.find("_short += 16)"), std::string::npos) << "of a row's length as if all rows shared one: " << text;
}

}  // namespace
}  // namespace sheaf::test::data_ranges_tests
