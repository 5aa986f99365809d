// The data sets are whole and read as their README says; a chart shows what it is given.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <stdexcept>
#include <support/chart.hpp>
#include <support/csv.hpp>

namespace {

const std::filesystem::path data = std::filesystem::path(SHEAF_TEST_DIR) / "../examples/data";

TEST(csv, digits_are_1797_images_of_64_pixels) {
  const support::digits read = support::read_digits(data / "digits.csv");
  ASSERT_EQ(read.labels.size(), 1797u);
  ASSERT_EQ(read.pixels.size(), 1797u * 64);
  EXPECT_EQ(*std::max_element(read.pixels.begin(), read.pixels.end()), 16.0f);
  EXPECT_EQ(*std::min_element(read.pixels.begin(), read.pixels.end()), 0.0f);
  EXPECT_EQ(std::count(read.labels.begin(), read.labels.end(), 8), 174);
}

TEST(csv, readings_are_2284_weeks_of_which_59_are_missing) {
  const support::readings read = support::read_readings(data / "co2.csv");
  ASSERT_EQ(read.value.size(), 2284u);
  EXPECT_EQ(std::accumulate(read.valid.begin(), read.valid.end(), 0), 2284 - 59);
  EXPECT_FLOAT_EQ(read.value.front(), 316.1f);
  EXPECT_EQ(read.year.front(), 1958);
  EXPECT_EQ(read.month.front(), 3);
  EXPECT_NEAR(read.time.front(), 1958 + 87.5 / 365, 1e-9);  // 29 March
  EXPECT_TRUE(std::is_sorted(read.time.begin(), read.time.end()));
}

TEST(csv, a_missing_file_is_named) { EXPECT_THROW(support::read_digits("no/such.csv"), std::runtime_error); }

TEST(chart, ticks_are_round_and_inside) {
  EXPECT_EQ(support::nice_ticks(-0.3, 1.05, 6), (std::vector<double>{-0.2, 0, 0.2, 0.4, 0.6000000000000001, 0.8, 1.0}));
  EXPECT_EQ(support::nice_ticks(1958, 2002, 5), (std::vector<double>{1960, 1970, 1980, 1990, 2000}));
}

TEST(chart, a_value_that_is_not_finite_lifts_the_pen) {
  const auto pens = [](const std::vector<double>& y) {
    const std::string svg = support::to_svg({.title = "t", .curves = {{"a<b", {0, 1, 2}, y}}});
    EXPECT_NE(svg.find("a&lt;b"), std::string::npos);
    return std::count(svg.begin(), svg.end(), 'M');
  };
  EXPECT_EQ(pens({1, 2, 3}), 1);
  EXPECT_EQ(pens({1, NAN, 3}), 2);
}

TEST(chart, a_curve_of_unequal_lengths_is_refused) {
  EXPECT_THROW(support::to_svg({.title = "t", .curves = {{"a", {0, 1}, {1}}}}), std::invalid_argument);
}

}  // namespace
