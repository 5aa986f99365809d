// Numbers that record what is decided by them, and whether other extents would be decided alike.
#include <gtest/gtest.h>

#include <sheaf/jit/shapes/decisions.hpp>

namespace sheaf::test {
namespace {

using shapes::amount;
using shapes::decisions;

bool hold(const decisions& d, std::vector<std::int64_t> extents) { return d.hold(extents); }

TEST(shapes, numbers_without_a_formula_record_nothing) {
  decisions d(true);
  EXPECT_TRUE(amount(3) < amount(4));
  EXPECT_EQ(7, (amount(3) + 4).estimate());
  EXPECT_EQ(0u, d.size());
  EXPECT_TRUE(hold(d, {}));
}

TEST(shapes, comparisons_are_recorded_with_their_outcome) {
  decisions d(true);
  const amount rows = d.extent(0, 100), columns = d.extent(1, 8);
  EXPECT_TRUE(rows * columns >= 512);
  EXPECT_FALSE(columns > 16);
  EXPECT_TRUE(hold(d, {100, 8}));
  EXPECT_TRUE(hold(d, {32, 16}));
  EXPECT_FALSE(hold(d, {31, 16}));
  EXPECT_FALSE(hold(d, {100, 17}));
  EXPECT_EQ(2u, d.size());
  EXPECT_TRUE(rows * columns >= 512);  // asked again
  EXPECT_EQ(2u, d.size());
}

TEST(shapes, what_is_fixed_serves_that_number_alone) {
  decisions d(true);
  EXPECT_EQ(2, floor(d.extent(0, 5) / 2).whole());
  EXPECT_TRUE(hold(d, {4}));
  EXPECT_FALSE(hold(d, {6}));
}

TEST(shapes, an_estimate_decides_nothing) {
  decisions d(true);
  EXPECT_EQ(5, d.extent(0, 5).estimate());
  EXPECT_TRUE(hold(d, {1000}));
}

TEST(shapes, functions_of_whole_numbers) {
  decisions d(true);
  const amount rows = d.extent(0, 96);
  EXPECT_TRUE(remainder(rows, 32) == 0);
  EXPECT_EQ(7, bit_width(rows).whole());
  EXPECT_TRUE(hold(d, {64}));
  EXPECT_FALSE(hold(d, {65}));
  EXPECT_FALSE(hold(d, {128}));
}

TEST(shapes, formulas_have_values_for_other_extents) {
  decisions d(true);
  const amount work = max(d.extent(0, 100) * 3, 50) - log2(d.extent(1, 8));
  EXPECT_EQ(297, work.estimate());
  EXPECT_EQ(46, d.value(work, std::vector<std::int64_t>{2, 16}));
  EXPECT_EQ(4, d.value(amount(4), std::vector<std::int64_t>{2, 16}));
}

TEST(shapes, the_first_difference_is_said) {
  decisions d(true);
  const std::vector<std::string> names{"rows", "columns"};
  EXPECT_TRUE(d.extent(0, 100) >= 64);
  EXPECT_TRUE(d.extent(1, 8) * 2 < d.extent(0, 100));
  EXPECT_EQ("", d.difference(std::vector<std::int64_t>{64, 8}, names));
  EXPECT_EQ("rows >= 64", d.difference(std::vector<std::int64_t>{63, 8}, names));
  EXPECT_EQ("(columns * 2) < rows", d.difference(std::vector<std::int64_t>{64, 32}, names));
}

}  // namespace
}  // namespace sheaf::test
