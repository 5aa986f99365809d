// Lists of slices and of updates that all threads of a GPU make: several digits, several tiles, and what is kept of
// them.
#include <gtest/gtest.h>

#include <string>

#include <coverage/by_name.hpp>

#include "machine.hpp"

namespace {

using namespace sheaf;
using namespace sheaf::test;

constexpr auto m = axis<"m">;
constexpr auto k = axis<"k">;
constexpr auto t = axis<"t">;
constexpr auto f = axis<"f">;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto z = tensor<"z", float, 1>;
constexpr auto pick = tensor<"pick", std::int64_t, 2>;
constexpr auto ids = tensor<"ids", std::int64_t, 1>;
constexpr auto off = tensor<"off", std::int64_t, 1>;
constexpr auto cut = tensor<"cut", std::int64_t, 2>;
constexpr auto gathered = define<"gathered">(m, f) = sum(k, x(pick(m, k), f));
constexpr auto taken = define<"taken">(t) = z(ids(t));
constexpr auto pooled = define<"pooled">(m, f) = mean(t.in(cut(m, 0_c), cut(m, 1_c)), x(t, f));

// Some rows have most of the updates, many have none.
std::vector<double> names(std::int64_t count, std::int64_t rows) {
  std::vector<double> list;
  for (std::int64_t n = 0; n < count; ++n)
    list.push_back(static_cast<double>(n % 3 == 0 ? rows - 1 : (n * n * 7919 + 13 * n) % rows));
  return list;
}

values slices(std::int64_t count, std::int64_t rows, std::int64_t longest) {
  std::vector<double> list;
  for (std::int64_t n = 0; n < count; ++n) {
    const std::int64_t low = (n * 7919) % rows, size = n % 5 == 0 ? 0 : (n * n) % longest;
    list.push_back(static_cast<double>(low));
    list.push_back(static_cast<double>(std::min(rows, low + size)));
  }
  return integers({count, 2}, list);
}

TEST(lists, updates_of_one_and_more_digits) {
  for (const std::int64_t rows : {1, 100, 1000, 20000})
    check_backends(first_order("gathered", gathered, x),
                   {{"x", floats(1, {rows, 3}, -1, 1)}, {"pick", integers({300, 9}, names(2700, rows))}});
}

TEST(lists, updates_of_single_elements) {
  for (const std::int64_t rows : {5, 3000})
    check_backends(first_order("taken", taken, z),
                   {{"z", floats(1, {rows}, -1, 1)}, {"ids", integers({2500}, names(2500, rows))}});
}

TEST(lists, updates_of_bags) {
  std::vector<double> begins(1, 0);
  for (int n = 0; n < 90; ++n) begins.push_back(std::min(3000.0, begins.back() + n * n % 67));
  begins.back() = 3000;
  const table data = {
      {"x", floats(1, {300, 8}, -1, 1)}, {"ids", integers({3000}, names(3000, 300))}, {"off", integers({91}, begins)}};
  check_backends(first_order("bags", embedding_bag(ids, x, offsets(off)), x), data);
}

TEST(lists, slices_that_overlap) {
  for (const std::int64_t rows : {40, 9000})
    for (const std::int64_t count : {70, 700})
      check_backends(first_order("pooled", pooled, x),
                     {{"x", floats(1, {rows, 5}, -1, 1)}, {"cut", slices(count, rows, rows / 3)}});
}

// More updates than there is room for: every tile walks all of them.
TEST(lists, without_room) {
  constexpr auto over = define<"over">(m, f) = sum(t.in(cut(m, 0_c), cut(m, 1_c)), x(ids(t), f));
  check_backends(
      first_order("over", over, x),
      {{"x", floats(1, {50, 5}, -1, 1)}, {"ids", integers({2100}, names(2100, 50))}, {"cut", slices(40, 2100, 700)}});
}

// Where a check before found something the kernels that programs share are switched off: they would go by what lay in
// memory.
TEST(lists, after_a_wrong_subscript) {
  std::vector<double> wrong = names(2700, 1000);
  wrong[77] = 1000;
  const by_name kernels(words_of(vjp(gathered, x)), jit::backend::chosen);
  std::string said;
  try {
    kernels({{"x", floats(1, {1000, 3}, -1, 1)},
             {"pick", integers({300, 9}, wrong)},
             {"cotangent_gathered", floats(2, {300, 3}, -1, 1)}});
  } catch (const std::exception& e) {
    said = e.what();
  }
  const bool by_kernels = emulated_machine::only().built();
  EXPECT_NE(said.find(by_kernels ? "check 0 failed at 77" : "expected a subscript from 0 to 999"), std::string::npos)
      << said;
}

}  // namespace
