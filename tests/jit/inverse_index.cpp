// Scatters with lists of their updates: rows named often, once and never, bags that are empty or overlap, more updates
// than there is room for; each program also in small tasks.
#include <sheaf/dsl/sugar/sugar.hpp>

#include "plan_harness.hpp"

namespace sheaf::test::inverse_index_tests {
namespace {

constexpr auto m = axis<"m">;
constexpr auto u = axis<"u">;
constexpr auto f = axis<"f">;
constexpr auto table = tensor<"table", float, 2>;
constexpr auto dy = tensor<"dy", float, 2>;
constexpr auto weight = tensor<"weight", float, 1>;
constexpr auto ids = tensor<"ids", std::int64_t, 1>;
constexpr auto off = tensor<"off", std::int64_t, 1>;
constexpr auto cut = tensor<"cut", std::int64_t, 2>;

const std::vector<double> offs{0, 0, 3, 3, 40, 90};
constexpr auto list_text = "a task walks the updates of its own rows";

void expect_lists(trial& test) {
  test.expect_right();
  EXPECT_NE(test.plan_text().find(list_text), std::string::npos) << test.plan_text();
}

// The gradient of `y`, with few names (rows that are named often) and many (rows that are not).
template <class Y, class X>
void over_names(Y y, X by, bool weighted) {
  constexpr auto loss = define<"loss">() = sum(over(m, f), dy(m, f) * Y{}(m, f));
  for (const std::int64_t names : {3, 37})
    for (const std::int64_t columns : {1, 5, 70}) {
      SCOPED_TRACE(std::to_string(names) + " names, " + std::to_string(columns) + " columns");
      trial test = trial_of(y, grad(loss, by));
      test.force_for_tests = true;
      test.random("table", {37, columns}).random("dy", {5, columns}).below("ids", {90}, names).with("off", {6}, offs);
      if (weighted) test.random("weight", {90});
      test.expect_right();
      EXPECT_NE(test.plan_text().find(list_text), std::string::npos) << test.plan_text();
    }
}

TEST(updates, bags) {
  over_names(embedding_bag<bag{.mode = bag_mode::sum}>(ids, table, offsets(off)), table, false);
  over_names(embedding_bag(ids, table, offsets(off)), table, false);
}
TEST(updates, weighted_bags) {
  over_names(embedding_bag<bag{.mode = bag_mode::sum}>(ids, table, offsets(off), weight), table, true);
}
TEST(updates, largest_of_bags) {
  over_names(embedding_bag<bag{.mode = bag_mode::max}>(ids, table, offsets(off)), table, false);
}
// Slices that overlap may have more updates than the names there are: then every task asks all of them.
TEST(updates, more_than_there_is_room_for) {
  constexpr auto y = define<"y">(m, f) = sum(u.in(cut(m, 0_c), cut(m, 1_c)), table(ids(u), f));
  constexpr auto loss = define<"loss">() = sum(over(m, f), dy(m, f) * y(m, f));
  for (const std::vector<double>& slices : {std::vector<double>{0, 9, 0, 9, 3, 12}, {0, 4, 4, 4, 7, 12}}) {
    trial test = trial_of(y, grad(loss, table));
    test.force_for_tests = true;
    test.random("table", {37, 20}).random("dy", {3, 20}).below("ids", {12}, 37).with("cut", {3, 2}, slices);
    expect_lists(test);
  }
}
// Names outside are nobody's rows here: only those inside count.
TEST(updates, of_other_folds) {
  constexpr auto i = axis<"i", 21>;
  constexpr auto most = define<"most">(i, f) = max(u.where(ids(u) == i), dy(u, f));
  constexpr auto total = define<"total">(i, f) = sum(u.where(ids(u) == i && dy(u, f) > 0_c), dy(u, f));
  trial test = trial_of(most, total);
  test.force_for_tests = true;
  test.random("dy", {90, 33}).below("ids", {90}, 30);
  expect_lists(test);
}
// The index that names the row bounds another one of the walk too, which stays that one.
TEST(updates, of_ranges_by_what_names_the_row) {
  constexpr auto i = axis<"i", 21>;
  constexpr auto t = axis<"t">;
  constexpr auto here = t.in(0_c, cut(u, 0_c)).where(u == i && f < cut(t, 1_c));
  constexpr auto total = define<"total">(i, f) = sum(over(u, here), dy(u, f));
  trial test = trial_of(total);
  test.force_for_tests = true;
  test.random("dy", {30, 33}).below("cut", {30, 2}, 25);
  expect_lists(test);
}
// Data names row and column: of a list of the row's updates each column would ask all.
TEST(updates, of_two_names_are_walked_once) {
  constexpr auto cube = tensor<"cube", float, 3>;
  constexpr auto at = tensor<"at", std::int64_t, 1>;
  constexpr auto y = define<"y">(u, f) = cube(ids(u), at(u), f);
  constexpr auto loss = define<"loss">() = sum(over(u, f), dy(u, f) * y(u, f));
  trial test = trial_of(y, grad(loss, cube));
  test.force_for_tests = true;
  test.random("cube", {37, 6, 20}).random("dy", {90, 20}).below("ids", {90}, 37).below("at", {90}, 6);
  test.expect_right();
  EXPECT_EQ(test.plan_text().find(list_text), std::string::npos) << test.plan_text();
}
// A task walks the updates once for all of its chunks of rows, however many those are.
TEST(updates, are_walked_once_by_each_task) {
  constexpr auto total = define<"total">(m.in(0_c, 700_c), f) = sum(u.where(ids(u) == m), exp(weight(u)) * dy(u, f));
  trial test = trial_of(total);
  test.random("dy", {900, 40}).random("weight", {900}).below("ids", {900}, 700);
  test.expect_right();
  EXPECT_NE(ir::print(test.p->code).find("at_once"), std::string::npos) << test.plan_text();
  const std::vector<unsigned char> alone = test.outputs[0].bytes;
  test.code->call.parallel_for = in_odd_tasks;
  ASSERT_EQ(test.run(), SHEAF_OK);
  EXPECT_EQ(test.outputs[0].bytes, alone);
}
TEST(updates, nothing_is_written_for_a_bad_name) {
  constexpr auto y = embedding_bag<bag{.mode = bag_mode::sum}>(ids, table, offsets(off));
  constexpr auto loss = define<"loss">() = sum(over(m, f), dy(m, f) * y(m, f));
  trial test = trial_of(y, grad(loss, table));
  test.force_for_tests = true;
  std::vector<double> names(90, 1);
  names.back() = 37;
  test.random("table", {37, 8}).random("dy", {5, 8}).with("ids", {90}, names).with("off", {6}, offs);
  EXPECT_EQ(test.run(), SHEAF_BAD_INDEX) << test.plan_text();
  for (const memory& out : test.outputs)
    for (const unsigned char byte : out.bytes) ASSERT_EQ(byte, 0xCD);
}

}  // namespace
}  // namespace sheaf::test::inverse_index_tests
