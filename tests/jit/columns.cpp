// Columns whose terms are centred by what is folded beside them: many of them are read once, as whole rows, while the
// centre moves. Values against the evaluator, in odd tasks and on another processor, and what the plan says of it.
#include <cmath>
#include <limits>

#include "plan_harness.hpp"

namespace sheaf::test::columns_tests {
namespace {

constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto v = tensor<"v", float, 1>;
constexpr auto slope = tensor<"slope", float, 2>;
constexpr auto wide = tensor<"wide", double, 2>;
constexpr auto half = tensor<"half", float16, 2>;
constexpr auto counts = tensor<"counts", std::int32_t, 2>;

constexpr auto far = define<"far">(j) = logsumexp(i, x(i, j));
constexpr auto centre = define<"centre">(j) = mean(i, x(i, j));
constexpr auto spread = define<"spread">(j) = mean(i, (x(i, j) - centre(j)) * (x(i, j) - centre(j)));
constexpr auto at = define<"at">(j) = argmax(i, x(i, j));
constexpr auto low_at = define<"low_at">(j) = argmin(i, x(i, j));

constexpr double inf = std::numeric_limits<double>::infinity();
using shape = std::vector<std::int64_t>;

bool says(trial& t, const char* words) { return t.plan_text().find(words) != std::string::npos; }
const char* const shifted_centre = "where the centre moves";
const char* const moving_extremum = "so does the position";

// Loads of x in the program: of several rows together and of one by itself, however many results read them.
int loads_of_x(trial& t) {
  const std::string code = (t.plan_text(), ir::print(t.p->code));
  int n = 0;
  for (std::size_t k = code.find("load contiguous x["); k != std::string::npos;
       k = code.find("load contiguous x[", k + 1))
    ++n;
  return n;
}

// Blocks whose rows are no multiple of those walked together, and columns no multiple of the lanes.
const std::vector<shape> shapes{{300, 1100}, {133, 1031}, {1029, 517}};
const shape small{133, 1031};  // for gradients, which the evaluator takes element by element

TEST(columns, elements_are_read_once) {
  for (const shape& s : shapes) {
    trial powers = trial_of(far), squares = trial_of(spread), places = trial_of(at), lows = trial_of(low_at);
    for (trial* t : {&powers, &squares, &places, &lows}) {
      t->random("x", s);
      EXPECT_TRUE(says(*t, t == &powers || t == &squares ? shifted_centre : moving_extremum)) << t->plan_text();
      EXPECT_EQ(loads_of_x(*t), 8 + 1) << t->plan_text();
      t->expect_right(1e-6);
    }
  }
}
TEST(columns, all_of_them_in_one_pass) {
  trial t = trial_of(far, spread, centre, at, low_at);
  t.random("x", {300, 1100});
  EXPECT_EQ(loads_of_x(t), 8 + 1) << t.plan_text();
  t.expect_right(1e-6);
}
TEST(columns, few_are_walked_down_scratch_rows) {
  for (const shape& s : std::vector<shape>{{9000, 128}, {300, 100}, {50, 1100}}) {
    trial t = trial_of(far, spread, at);
    t.random("x", s);
    EXPECT_FALSE(says(t, shifted_centre)) << t.plan_text();
    EXPECT_FALSE(says(t, moving_extremum)) << t.plan_text();
    t.expect_right(1e-6);
  }
}
TEST(columns, transposed_or_each_stage_by_itself) {
  trial turned = trial_of(far, spread, at);
  turned.random("x", {300, 1100}, true).expect_right(1e-6);
  trial apart = trial_of(far, spread, at);
  apart.overrides.fusion = fusion::off;
  apart.random("x", {300, 1100}).expect_right(1e-6);
}

// A column each of: -inf alone, -inf first, +inf, both, NaN, NaN beside infinities, terms that vanish beside the
// largest one.
std::vector<double> edges(std::int64_t rows, std::int64_t columns) {
  std::vector<double> values;
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < columns; ++c) {
      double value = static_cast<double>((r * columns + c) * 7919 % 1000) * 0.001 - 120;
      if (c == 0 || (c == 1 && r < 200) || (c == 2 && r % 3 != 0)) value = -inf;
      if ((c == 3 && r == 90) || (c == 4 && r % 50 == 7)) value = inf;
      if (c == 4 && r % 50 == 30) value = -inf;
      if ((c == 5 && r == 10) || (c == 6 && r % 90 == 80)) value = std::nan("");
      if (c == 6 && r % 40 == 3) value = r % 80 == 3 ? inf : -inf;
      if (c == 7) value = static_cast<double>(r % 100) * 3;
      if (c == 8) value = static_cast<double>(rows - r) * 3;
      if (c == 9) value = 0;
      if (c == 10) value = r % 2 == 0 ? 0.0 : -0.0;
      values.push_back(value);
    }
  return values;
}
TEST(columns, edges_of_powers) {
  for (const shape& s : shapes) {
    trial t = trial_of(far);
    t.with("x", s, edges(s[0], s[1])).expect_right(1e-6);
    EXPECT_TRUE(says(t, shifted_centre)) << t.plan_text();
  }
}
// Without a guard of their own: NaN where all are -inf, as defined, and nowhere else for it.
TEST(columns, edges_of_powers_without_a_guard) {
  constexpr auto top = define<"top">(j) = max(i, x(i, j));
  constexpr auto powers = define<"powers">(j) = sum(i, exp(x(i, j) - top(j)));
  constexpr auto soft = define<"soft">(i, j) = exp(x(i, j) - top(j)) / powers(j);
  std::vector<double> values;
  for (int k = 0; k < 300 * 1100; ++k) {
    const int row = k / 1100, column = k % 1100;
    const bool none = (column % 3 == 1 && row < 8) || (column % 5 == 2 && row >= 60 && row < 200) || column == 9;
    values.push_back(none ? -inf : std::sin(k));
  }
  trial t = trial_of(powers, vjp(soft, x, slope));
  t.with("x", {300, 1100}, values).random("slope", {300, 1100}).expect_right(1e-5);
  EXPECT_TRUE(says(t, shifted_centre)) << t.plan_text();
}
// Not the mean, not the maximum, of what is summed: no block has a centre that serves.
TEST(columns, centres_of_other_values) {
  constexpr auto low = define<"low">(j) = sum(i, exp(-x(i, j) - max(i, x(i, j))));
  constexpr auto squares = define<"squares">(j) =
      sum(i, (x(i, j) * x(i, j) - centre(j)) * (x(i, j) * x(i, j) - centre(j)));
  std::vector<double> values;
  for (int k = 0; k < 300 * 1100; ++k) values.push_back(k / 1100 < 200 ? -40 : 40);
  trial_of(low).with("x", {300, 1100}, values).expect_right(1e-6);
  trial_of(squares).random("x", {300, 1100}).expect_right(1e-5);
}
TEST(columns, edges_of_positions) {
  for (const shape& s : shapes) {
    trial t = trial_of(at, low_at);
    t.with("x", s, edges(s[0], s[1])).expect_right(0);
    EXPECT_TRUE(says(t, moving_extremum)) << t.plan_text();
  }
}
// Squares of infinities and NaN are NaN; those of one value are 0.
TEST(columns, edges_of_squares) {
  trial t = trial_of(spread);
  t.with("x", {300, 1100}, edges(300, 1100)).expect_right(1e-6);
}

TEST(columns, the_first_of_equals) {
  constexpr auto first = define<"first">(j) = max<ties::first>(i, x(i, j));
  constexpr auto last = define<"last">(j) = min<ties::last>(i, x(i, j));
  constexpr auto both = define<"both">() = sum(j, (first(j) + 2_c * last(j)) * v(j));
  trial t = trial_of(at, low_at, first, last, grad(both, x));
  t.below("x", small, 4).random("v", {small[1]});
  EXPECT_TRUE(says(t, moving_extremum)) << t.plan_text();
  t.expect_right(1e-6);
}
TEST(columns, positions_in_other_types) {
  constexpr auto of_wide = define<"of_wide">(j) = argmax(i, wide(i, j));
  constexpr auto of_half = define<"of_half">(j) = argmin(i, half(i, j));
  constexpr auto of_counts = define<"of_counts">(j) = argmax(i, counts(i, j));
  constexpr auto of_truth = define<"of_truth">(j) = argmax(i, counts(i, j) < 2_c);
  trial t = trial_of(of_wide, of_half, of_counts, of_truth);
  t.random("wide", {300, 1100}).random("half", {300, 1100}).below("counts", {300, 1100}, 50);
  EXPECT_TRUE(says(t, moving_extremum)) << t.plan_text();
  t.expect_right(0);
}
// Where rows are left out, positions are those among the others.
TEST(columns, some_of_the_rows) {
  constexpr auto some = define<"some">(j) = argmax(i.in(5_c, extent(x, dim<0>) - 3_c), x(i, j));
  constexpr auto none = define<"none">(j) = argmax(i.where(x(i, j) > 2_c), x(i, j));
  trial t = trial_of(some, none);
  t.random("x", {300, 1100}).expect_right(0);
}
TEST(columns, sums_in_other_types) {
  constexpr auto of_wide = define<"of_wide">(j) = logsumexp(i, wide(i, j));
  constexpr auto of_half = define<"of_half">(j) = logsumexp(i, half(i, j));
  constexpr auto middle = define<"middle">(j) = mean(i, wide(i, j));
  constexpr auto squares = define<"squares">(j) = sum(i, (wide(i, j) - middle(j)) * (wide(i, j) - middle(j)));
  trial t = trial_of(of_wide, squares);
  t.random("wide", {300, 1100});
  EXPECT_TRUE(says(t, shifted_centre)) << t.plan_text();
  t.expect_right(1e-14);
  trial narrow = trial_of(of_half);
  narrow.random("half", {300, 1100}).expect_right(1e-3);
}

TEST(columns, with_their_gradients) {
  constexpr auto loss = define<"loss">() = sum(j, (far(j) + spread(j)) * v(j));
  constexpr auto soft = define<"soft">(i, j) = exp(x(i, j) - far(j));
  trial t = trial_of(far, spread, grad(loss, x));
  t.random("x", small).random("v", {small[1]});
  EXPECT_TRUE(says(t, shifted_centre)) << t.plan_text();
  t.expect_right(1e-5);
  trial shares = trial_of(soft);
  shares.random("x", small).expect_right(1e-5);
}

// Equal whole numbers have no variance, exactly.
TEST(columns, squares_of_equals_vanish) {
  std::vector<double> values;
  for (int k = 0; k < 300 * 1100; ++k) values.push_back(k % 1100 + 1);
  trial t = trial_of(spread);
  t.with("x", {300, 1100}, values);
  ASSERT_EQ(t.run(), 0);
  EXPECT_TRUE(says(t, shifted_centre)) << t.plan_text();
  for (std::int64_t c = 0; c < 1100; ++c) ASSERT_EQ(t.outputs[0].real(c), 0) << "column " << c;
}

// Far from 0: the centre is that of so many rows, rounded. Its error is that of the mean, and squares of the rest show
// none of it.
TEST(columns, squares_far_from_zero) {
  const std::int64_t rows = 2048, columns = 600;
  std::mt19937_64 bits(3);
  std::uniform_real_distribution<float> uniform(99, 101);
  std::vector<double> values;
  for (std::int64_t k = 0; k < rows * columns; ++k) values.push_back(static_cast<double>(uniform(bits)));
  trial t = trial_of(spread);
  t.with("x", {rows, columns}, values);
  EXPECT_TRUE(says(t, shifted_centre)) << t.plan_text();
  t.expect_right(2e-6);
}

}  // namespace
}  // namespace sheaf::test::columns_tests
