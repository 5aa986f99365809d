// Gradients of extrema over windows that go to one element, and positions in windows: rows ask the few windows that
// hold them, in lanes; of any stride, border, number of dimensions, element type and data.
#include "tie_data.hpp"

namespace sheaf::test::near_scatter_tests {
namespace {

constexpr auto b = axis<"b">;
constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto p = axis<"p">;
constexpr auto q = axis<"q">;
constexpr auto r = axis<"r">;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto line = tensor<"line", double, 1>;
constexpr auto box = tensor<"box", float, 3>;
constexpr auto half = tensor<"half", bfloat16, 2>;
constexpr auto whole = tensor<"whole", std::int32_t, 2>;
constexpr auto width = extent(x, dim<1>);

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

using shape = std::vector<std::int64_t>;
const std::vector<shape> planes{{3, 3}, {4, 3}, {5, 8}, {6, 37}};

// The last plan.
template <class... Outputs>
std::string right(const char* input, const std::vector<shape>& extents, Outputs...) {
  std::string plan;
  for (const shape& each : extents)
    for (const data kind : kinds) {
      SCOPED_TRACE(std::to_string(each.back()) + " columns, data " + std::to_string(static_cast<int>(kind)));
      std::int64_t all = 1;
      for (const std::int64_t n : each) all *= n;
      trial test = trial_of(Outputs{}...);
      test.with(input, each, drawn(all, kind)).expect_right();
      plan = test.plan_text();
    }
  return plan;
}
void expect_gathered(const std::string& plan) {
  EXPECT_TRUE(has(plan, "stage offset")) << plan;
  EXPECT_FALSE(has(plan, ", scatter\n")) << plan;
}

// The gradient of a sum of windows, with a weight for each.
#define SHEAF_SLOPE(input, value, ...)                                                        \
  grad(define<"loss">() = sum(over(__VA_ARGS__), (value) * cast<float>(i % 5_c - 1_c)), input)

constexpr auto of_two = [](auto e) { return i.in(0_c, quotient(e, 2_c)); };
constexpr auto rows = extent(x, dim<0>);
constexpr auto down = i.in(0_c, quotient(rows - 1_c, 2_c));
constexpr auto along = j.in(0_c, quotient(width - 1_c, 2_c));

TEST(near_scatter, windows_side_by_side) {
  constexpr auto pooled = max<ties::first>(over(p.in(0_c, 2_c), q.in(0_c, 2_c)), x(2_c * i + p, 2_c * j + q));
  expect_gathered(right("x", planes, SHEAF_SLOPE(x, pooled, of_two(rows), j.in(0_c, quotient(width, 2_c)))));
}
TEST(near_scatter, windows_that_overlap) {
  constexpr auto domain = over(p.in(0_c, 3_c), q.in(0_c, 3_c));
  constexpr auto first = max<ties::first>(domain, x(2_c * i + p, 2_c * j + q));
  constexpr auto last = min<ties::last>(domain, x(2_c * i + p, 2_c * j + q));
  expect_gathered(right("x", planes, SHEAF_SLOPE(x, first, down, along)));
  expect_gathered(right("x", planes, SHEAF_SLOPE(x, last, down, along)));
  constexpr auto each_down = i.in(0_c, rows - 2_c);
  constexpr auto each_along = j.in(0_c, width - 2_c);
  expect_gathered(right("x", planes, SHEAF_SLOPE(x, max<ties::last>(domain, x(i + p, j + q)), each_down, each_along)));
}
TEST(near_scatter, windows_beyond_the_border) {
  constexpr auto each_down = i.in(0_c, quotient(rows + 1_c, 2_c));
  constexpr auto each_along = j.in(0_c, quotient(width + 1_c, 2_c));
  constexpr auto pooled = max<ties::first>(over(p.in(0_c, 3_c), q.in(0_c, 3_c)),
                                           x.skipping(2_c * i + p - 1_c, 2_c * j + q - 1_c));
  right("x", planes, SHEAF_SLOPE(x, pooled, each_down, each_along));
  constexpr auto filled = min<ties::first>(over(p.in(0_c, 3_c), q.in(0_c, 3_c)),
                                           x.padded(2_c)(2_c * i + p - 1_c, 2_c * j + q - 1_c));
  right("x", planes, SHEAF_SLOPE(x, filled, each_down, each_along));
}
// The nearest element, also of windows of one row, whose position is known.
TEST(near_scatter, windows_that_are_clamped) {
  constexpr auto domain = over(p.in(0_c, 1_c), q.in(0_c, 3_c));
  constexpr auto pooled = max<ties::first>(domain, x.clamped(i + p - 1_c, j + q - 1_c));
  right("x", planes, SHEAF_SLOPE(x, pooled, i.in(0_c, rows + 2_c), j.in(0_c, width)));
}
TEST(near_scatter, of_one_dimension) {
  constexpr auto size = extent(line, dim<0>);
  constexpr auto steps = i.in(0_c, quotient(size - 3_c, 2_c));
  const std::vector<shape> lines{{3}, {4}, {5}, {6}, {19}, {100}, {333}};
  expect_gathered(right("line", lines, SHEAF_SLOPE(line, max<ties::first>(p.in(0_c, 4_c), line(2_c * i + p)), steps)));
  expect_gathered(right("line", lines, SHEAF_SLOPE(line, max<ties::last>(p.in(0_c, 4_c), line(2_c * i + p)), steps)));
  expect_gathered(
      right("line", lines, SHEAF_SLOPE(line, min<ties::first>(p.in(2_c * i, 2_c * i + 4_c), line(p)), steps)));
  constexpr auto cut = p.in(maximum(i - 2_c, 0_c), minimum(i + 3_c, size));
  right("line", lines, SHEAF_SLOPE(line, max<ties::first>(cut, line(p)), i.in(0_c, size)));
}
TEST(near_scatter, of_three_dimensions) {
  constexpr auto pooled = max<ties::first>(over(p.in(0_c, 2_c), q.in(0_c, 2_c), r.in(0_c, 2_c)),
                                           box(2_c * b + p, 2_c * i + q, 2_c * j + r));
  expect_gathered(right("box", {{2, 2, 2}, {3, 4, 7}, {2, 3, 35}},
                        SHEAF_SLOPE(box, pooled, b.in(0_c, quotient(extent(box, dim<0>), 2_c)),
                                    of_two(extent(box, dim<1>)), j.in(0_c, quotient(extent(box, dim<2>), 2_c)))));
}
TEST(near_scatter, of_other_elements) {
  constexpr auto domain = over(p.in(0_c, 2_c), q.in(0_c, 2_c));
  expect_gathered(right("half", planes, SHEAF_SLOPE(half, max<ties::first>(domain, half(2_c * i + p, 2_c * j + q)),
                                                    of_two(extent(half, dim<0>)),
                                                    j.in(0_c, quotient(extent(half, dim<1>), 2_c)))));
  constexpr auto squares = max<ties::first>(domain, x(2_c * i + p, 2_c * j + q) * x(2_c * i + p, 2_c * j + q));
  expect_gathered(right("x", planes, SHEAF_SLOPE(x, squares, of_two(rows), j.in(0_c, quotient(width, 2_c)))));
  constexpr auto positive =
      max<ties::first>(over(p.in(0_c, 3_c), q.in(0_c, 3_c).where(x(2_c * i + p, 2_c * j + q) > 1_c)),
                       x(2_c * i + p, 2_c * j + q));
  right("x", planes, SHEAF_SLOPE(x, positive, down, along));
}

TEST(near_scatter, positions) {
  const auto position = [](auto e, auto... domain) { return define<"position">(domain...) = e; };
  constexpr auto steps = j.in(0_c, quotient(width - 1_c, 2_c));
  right("x", planes, position(argmax(q.in(0_c, 3_c), x(i, 2_c * j + q)), i, steps));
  right("x", planes, position(argmin<ties::last>(q.in(0_c, 3_c), x(i, 2_c * j + q)), i, steps));
  constexpr auto cut = q.in(maximum(j - 1_c, 0_c), minimum(j + 2_c, width));
  right("x", planes, position(argmax(cut, x(i, q)), i, j.in(0_c, width)));
  right("x", planes, position(argmin(q.in(0_c, 3_c).where(x(i, 2_c * j + q) > 2_c), x(i, 2_c * j + q)), i, steps));
  right("whole", planes,
        position(argmax(q.in(0_c, 3_c), whole(i, j + q)), i, j.in(0_c, extent(whole, dim<1>) - 2_c)));
  constexpr auto best = argmax(p.in(0_c, 3_c), x(i + p, 0_c));
  right("x", planes, position(argmax(q.in(0_c, 3_c), x(i + best, j + q)), i.in(0_c, rows - 2_c),
                              j.in(0_c, width - 2_c)));
}

// Places near by that data says, beside rows of data, which stay a scatter's.
TEST(near_scatter, offsets_of_data) {
  constexpr auto off = tensor<"off", std::int64_t, 1>;
  constexpr auto id = tensor<"id", std::int64_t, 1>;
  constexpr auto k = axis<"k">;
  constexpr auto size = extent(off, dim<0>);
  constexpr auto near = 0_c <= off(i) && off(i) < 3_c && k == 2_c * i + off(i);
  constexpr auto sums = define<"sums">(k.in(0_c, 2_c * size)) = sum(i.where(near), cast<float>(i + off(i)));
  constexpr auto keyed = define<"keyed">(k.in(0_c, 2_c * size), j.in(0_c, 4_c)) =
      sum(i.where(near && id(i) == j), cast<float>(i));
  for (const std::int64_t n : {0, 1, 2, 19, 100}) {
    trial test = trial_of(sums);
    test.below("off", {n}, 5).expect_right();
    expect_gathered(test.plan_text());
    trial both = trial_of(keyed);
    both.below("off", {n}, 5).below("id", {n}, 4).expect_right();
    EXPECT_FALSE(has(both.plan_text(), "stage offset")) << both.plan_text();
  }
}

// Where each row would ask too many, updates look for their row.
TEST(near_scatter, wide_windows_stay_scatters) {
  constexpr auto wide = i.in(0_c, extent(line, dim<0>) - 39_c);
  constexpr auto most = max<ties::first>(p.in(0_c, 40_c), line(i + p));
  const std::string plan = right("line", {{60}, {300}}, SHEAF_SLOPE(line, most, wide));
  EXPECT_TRUE(has(plan, ", scatter\n")) << plan;
}

}  // namespace
}  // namespace sheaf::test::near_scatter_tests
