// Positions of extremes along long rows, which are looked for in the blocks that go beyond those before them.
#include <cmath>
#include <limits>

#include "plan_harness.hpp"

namespace sheaf::test::extreme_tests {
namespace {

constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto wide = tensor<"wide", double, 2>;
constexpr auto half = tensor<"half", float16, 2>;
constexpr auto counts = tensor<"counts", std::int32_t, 2>;
constexpr auto bytes = tensor<"bytes", std::uint8_t, 2>;

constexpr auto at = define<"at">(i) = argmax(j, x(i, j));
constexpr auto low_at = define<"low_at">(i) = argmin(j, x(i, j));

constexpr double inf = std::numeric_limits<double>::infinity();
using shape = std::vector<std::int64_t>;
const std::vector<shape> shapes{{9, 1024}, {9, 1031}, {7, 2304}, {5, 5000}};

bool looks_in_blocks(trial& t) {
  const bool said = t.plan_text().find(": of blocks of ") != std::string::npos;
  EXPECT_EQ(said, ir::print(t.p->code).find("_block.") != std::string::npos);
  return said;
}

TEST(extreme, random_rows) {
  for (const shape& s : shapes) {
    trial t = trial_of(at), low = trial_of(low_at);
    for (trial* one : {&t, &low}) {
      one->random("x", s);
      EXPECT_TRUE(looks_in_blocks(*one)) << one->plan_text();
      one->expect_right(0);
    }
  }
}
TEST(extreme, short_rows_are_folded_with_their_positions) {
  trial t = trial_of(at);
  t.random("x", {9, 300});
  EXPECT_FALSE(looks_in_blocks(t)) << t.plan_text();
  t.expect_right(0);
}

// A row each of: rising, falling, all equal, -inf alone, +inf alone, the extreme in the last element, NaN first, NaN
// late and twice, NaN after infinity, -inf but for one element, zeros of both signs.
double edge(std::int64_t row, std::int64_t place, std::int64_t length) {
  switch (row) {
    case 0:
      return static_cast<double>(place);
    case 1:
      return -static_cast<double>(place);
    case 2:
      return 3;
    case 3:
      return -inf;
    case 4:
      return inf;
    case 5:
      return place == length - 1 ? 2 : place % 2;
    case 6:
      return place == 0 ? std::nan("") : static_cast<double>(place);
    case 7:
      return place == length / 2 || place == length - 3 ? std::nan("") : static_cast<double>(place % 100);
    case 8:
      return place == 700 ? std::nan("") : place == 3 ? inf : place == 5 ? -inf : 0;
    case 9:
      return place == 600 ? -1e30 : -inf;
    default:
      return place % 2 == 0 ? 0.0 : -0.0;
  }
}
TEST(extreme, edges) {
  for (const std::int64_t length : {1024, 1031, 5000}) {
    std::vector<double> values;
    for (std::int64_t k = 0; k < 11 * length; ++k) values.push_back(edge(k / length, k % length, length));
    trial t = trial_of(at), low = trial_of(low_at);
    for (trial* one : {&t, &low}) {
      one->with("x", {11, length}, values);
      EXPECT_TRUE(looks_in_blocks(*one)) << one->plan_text();
      one->expect_right(0);
    }
  }
}
TEST(extreme, the_first_of_equals) {
  trial t = trial_of(at), low = trial_of(low_at);
  for (trial* one : {&t, &low}) one->below("x", {20, 1500}, 3).expect_right(0);
}
TEST(extreme, other_types) {
  constexpr auto of_wide = define<"of_wide">(i) = argmax(j, wide(i, j));
  constexpr auto of_half = define<"of_half">(i) = argmin(j, half(i, j));
  constexpr auto of_counts = define<"of_counts">(i) = argmax(j, counts(i, j));
  constexpr auto of_bytes = define<"of_bytes">(i) = argmin(j, bytes(i, j));
  const shape s{9, 1500};
  trial_of(of_wide).random("wide", s).expect_right(0);
  trial_of(of_half).random("half", s).expect_right(0);
  trial_of(of_counts).below("counts", s, 50).expect_right(0);
  trial_of(of_bytes).below("bytes", s, 200).expect_right(0);
}
// Positions are those among all elements; over nothing there is none.
TEST(extreme, some_of_the_elements) {
  constexpr auto some = define<"some">(i) = argmax(j.in(5_c, extent(x, dim<1>) - 3_c), x(i, j));
  constexpr auto large = define<"large">(i) = argmin(j.where(x(i, j) > 0.5_c), x(i, j) * x(i, j));
  constexpr auto none = define<"none">(i) = argmax(j.where(x(i, j) > 2_c), x(i, j));
  trial_of(some).random("x", {9, 1500}).expect_right(0);
  trial_of(large).random("x", {9, 1500}).expect_right(0);
  trial_of(none).random("x", {9, 1500}).expect_right(0);
}
TEST(extreme, rows_with_gaps) {
  trial t = trial_of(at);
  t.random("x", {1500, 1100}, true).expect_right(0);
}

}  // namespace
}  // namespace sheaf::test::extreme_tests
