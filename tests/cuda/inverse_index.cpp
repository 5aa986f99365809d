// Lists of slices and of updates that all threads of a GPU make: several digits, several tiles, and what is kept of
// them.
#include <gtest/gtest.h>

#include <string>

#include <coverage/by_name.hpp>

#include "machine.hpp"

namespace sheaf::test::inverse_index_tests {
namespace {

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
  for (const std::int64_t rows : {1, 100, 1000, 20000, 70000}) {  // of 8 bits, one of 10, two of 8, two of 9
    const std::int64_t bags = rows < 70000 ? 234 : 117;
    check_backends(first_order("gathered", gathered, x),
                   {{"x", floats(1, {rows, rows < 20000 ? 3 : 1}, -1, 1)},
                    {"pick", integers({bags, 9}, names(9 * bags, rows))}});
  }
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

// One row has all updates, a few have most of them, or each as many: parts of rows, of 8 and of 512 updates. What a
// name's last letter decides is whether the plan is one for much data.
values ids_of_few(std::int64_t count, std::int64_t rows, std::int64_t kind) {
  std::vector<double> list;
  for (std::int64_t n = 0; n < count; ++n) {
    const std::int64_t any = (n * n * 7919 + 13 * n) % rows;
    const std::int64_t skewed = n % 2 == 0 ? 0 : n % 3 == 0 ? rows - 1 : n % 5 == 0 ? rows / 2 : any;
    list.push_back(static_cast<double>(kind == 0 ? rows / 2 : kind == 1 ? skewed : any));
  }
  return integers({count}, list);
}
template <class Y>
void check_of_columns(Y y, const char* cotangent) {
  for (const std::int64_t kind : {0, 1, 2})
    for (const std::int64_t columns : {1, 3, 40}) {
      const std::int64_t rows = kind == 2 ? 3 : columns == 40 ? 100 : 600;
      check_backends(value_of("by column", vjp(y, x)), {{"x", floats(1, {rows, columns}, -1, 1)},
                                                        {"ids", ids_of_few(2111, rows, kind)},
                                                        {cotangent, floats(2, {2111, columns}, -1, 1)}});
    }
}
TEST(lists, rows_of_many_updates) {
  check_of_columns(define<"a">(t, f) = x(ids(t), f), "cotangent_a");
  check_of_columns(define<"b">(t, f) = x(ids(t), f), "cotangent_b");
}
template <class Y>
void check_of_numbers(Y y) {
  for (const std::int64_t kind : {0, 1, 2})
    check_backends(value_of("by key", y), {{"z", floats(1, {4111}, -1, 1)}, {"ids", ids_of_few(4111, 5, kind)}});
}
TEST(lists, keys_of_many_elements) {
  constexpr auto row = m.in(0_c, 5_c);
  check_of_numbers(define<"a">(row) = sum(t.where(ids(t) == m), z(t)));
  check_of_numbers(define<"b">(row) = sum(t.where(ids(t) == m), z(t)));
  check_of_numbers(define<"a">(row) = max(t.where(ids(t) == m && z(t) < 0.75_c), z(t)));
  check_of_numbers(define<"b">(row) = max(t.where(ids(t) == m && z(t) < 0.75_c), z(t)));
  check_of_numbers(define<"a">(row) = sum(t.where(ids(t) == m), exp(z(t)) * z(ids(t))));
  check_of_numbers(define<"b">(row) = sum(t.where(ids(t) == m), exp(z(t)) * z(ids(t))));
  check_of_numbers(define<"a">(row) = mean(t.where(ids(t) == m), z(t)));
  check_of_numbers(define<"b">(row) = mean(t.where(ids(t) == m), z(t)));
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

// Checks of one block share a launch: subscripts that go by offsets are not asked where the offsets are wrong.
TEST(lists, checks_of_a_launch_wait_for_each_other) {
  const by_name kernels(words_of(embedding_bag(ids, x, offsets(off))), jit::backend::chosen);
  std::string said;
  try {
    kernels({{"x", floats(1, {300, 8}, -1, 1)},
             {"ids", integers({3000}, names(3000, 300))},
             {"off", integers({4}, {0, 1 << 30, 20, 3000})}});
  } catch (const std::exception& e) {
    said = e.what();
  }
  const bool by_kernels = emulated_machine::only().built();
  EXPECT_NE(said.find(by_kernels ? "check 0 failed at 1" : "offsets"), std::string::npos) << said;
}

}  // namespace
}  // namespace sheaf::test::inverse_index_tests
