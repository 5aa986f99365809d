// A last dimension of few places, whose places are interleaved from lanes along the one before it: stack and its kin.
#include "plan_harness.hpp"

namespace sheaf::test::interleaved_tests {
namespace {

constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto k = axis<"k">;
constexpr auto p = axis<"p">;

// At sizes around whole vectors, into rows that stand one after the other and into others, for registers of two widths.
template <class... Y>
void expect_all_right(bool interleaves, Y...) {
  for (const std::int64_t columns : {1, 7, 8, 16, 21, 64, 100})
    for (const auto& [cpu, vectors] : {std::pair("native", 0), std::pair("x86-64-v3", 1)})
      for (const bool turned : {false, true}) {
        SCOPED_TRACE(std::to_string(columns) + " columns, " + cpu + (turned ? ", turned" : ""));
        trial test(detail::build_graph<Y...>());
        for (int n = 0; n < test.g.inputs.size(); ++n) {
          const text_range text = test.g.names[test.g.inputs[n].name];
          const std::string name(test.g.text.data() + text.first, static_cast<std::size_t>(text.size));
          test.random(name.c_str(), test.g.inputs[n].rank == 3 ? std::vector<std::int64_t>{5, columns, 3}
                                                               : std::vector<std::int64_t>{5, columns});
        }
        test.cpu = cpu;
        test.vectors = &target::widths[vectors];
        test.turned_outputs = turned;
        test.expect_right();
        if (!interleaves || turned || columns < 8) continue;
        EXPECT_NE(ir::print(test.p->code).find("transposed"), std::string::npos);
      }
}

template <class T>
void expect_stacks() {
  constexpr auto x = tensor<"x", T, 2>;
  constexpr auto z = tensor<"z", T, 2>;
  constexpr auto two = define<"two">(i, j, k.in(0_c, 2_c)) = select(k == 0_c, x(i, j), z(i, j));
  constexpr auto three = define<"three">(i, j, k.in(0_c, 3_c)) = x(i, j) - z(i, j) * cast<T>(k);
  constexpr auto four = define<"four">(i, j, k.in(0_c, 4_c)) = select(k < 2_c, x(i, j), z(i, j)) + x(i, j);
  constexpr auto chosen = define<"chosen">(i, j, k.in(0_c, 3_c)) = select(k == 1_c, z(i, j), x(i, j));
  expect_all_right(true, two);
  expect_all_right(true, chosen);
  if (row(element_of<T>).bytes < 4) return;  // arithmetic of several steps rounds elsewhere
  expect_all_right(true, three);
  expect_all_right(true, four);
}

TEST(interleaved_columns, f32) { expect_stacks<float>(); }
TEST(interleaved_columns, f64) { expect_stacks<double>(); }
TEST(interleaved_columns, bf16) { expect_stacks<bfloat16>(); }

// Rows of a few elements that are one dimension with their columns: places of one, made of places of another.
TEST(interleaved_columns, rows_that_are_taken_apart) {
  constexpr auto x = tensor<"x", float, 2>;
  constexpr auto first = x(i, 3_c * j);
  constexpr auto second = x(i, 3_c * j + 1_c);
  constexpr auto third = x(i, 3_c * j + 2_c);
  constexpr auto columns = j.in(0_c, quotient(extent(x, dim<1>), 3_c));
  constexpr auto turned = define<"turned">(i, columns, k.in(0_c, 3_c)) =
      select(k == 0_c, second, select(k == 1_c, third, first * second));
  for (const std::int64_t width : {24, 48, 63, 192, 300}) {
    SCOPED_TRACE(width);
    trial test = trial_of(turned);
    test.random("x", {5, width});
    EXPECT_NE(test.plan_text().find("j in"), std::string::npos) << test.plan_text();
    test.expect_right();
  }
}

TEST(interleaved_columns, rows_that_are_read) {
  constexpr auto x = tensor<"x", float, 2>;
  constexpr auto z = tensor<"z", float, 3>;
  constexpr auto scaled = define<"scaled">(i, j, k.in(0_c, 3_c)) = x(i, j) * z(i, j, k) + x(i, j);
  expect_all_right(true, scaled);
}

// Planes side by side, few of them or more than a vector holds, of any type.
template <class T>
void expect_planes() {
  constexpr auto z = tensor<"z", T, 3>;
  constexpr auto last = define<"last">(i, j, k) = z(i, k, j) * cast<T>(2_c);
  for (const std::int64_t planes : {1, 2, 3, 4, 5, 7, 8, 16, 17, 30, 256})
    for (const std::int64_t width : {7, 16, 100})
      for (const bool turned : {false, true}) {
        SCOPED_TRACE(testing::Message() << planes << " planes of " << width << (turned ? ", turned" : ""));
        trial test = trial_of(last);
        test.random("z", {3, planes, width});
        test.turned_outputs = turned;
        test.expect_right();
        if (planes < 2 || width < 16 || turned) continue;
        EXPECT_NE(ir::print(test.p->code).find("transposed"), std::string::npos);
      }
}

TEST(interleaved_columns, of_planes) {
  expect_planes<float>();
  expect_planes<double>();
  expect_planes<bfloat16>();
  expect_planes<float16>();
}

// Planes that are read as columns, with ends of lanes and of columns.
TEST(interleaved_columns, of_columns_far_apart) {
  constexpr auto z = tensor<"z", bfloat16, 3>;
  constexpr auto x = tensor<"x", float, 3>;
  constexpr auto w = tensor<"w", double, 3>;
  constexpr auto halves = define<"halves">(i, j, k) = z(i, k, j);
  constexpr auto wide = define<"wide">(i, j, k) = w(i, k, j);
  constexpr auto first = define<"first">(i, j, k) = x(i, k, j) + 1_c;
  for (const std::int64_t columns : {3, 5, 6, 19, 64})
    for (const std::int64_t rows : {7, 16, 33, 70})
      for (const auto& [cpu, vectors] : {std::pair("native", 0), std::pair("x86-64-v3", 1)}) {
        SCOPED_TRACE(testing::Message() << rows << " x " << columns << ", " << cpu);
        trial of_halves = trial_of(halves), of_first = trial_of(first), of_wide = trial_of(wide);
        of_halves.random("z", {2, rows, columns});
        of_first.random("x", {2, rows, columns});
        of_wide.random("w", {2, rows, columns});
        for (trial* test : {&of_halves, &of_first, &of_wide}) {
          test->cpu = cpu;
          test->vectors = &target::widths[vectors];
          test->expect_right();
        }
      }
}

TEST(interleaved_columns, gradients) {
  constexpr auto x = tensor<"x", float, 2>;
  constexpr auto z = tensor<"z", float, 2>;
  constexpr auto two = define<"two">(i, j, k.in(0_c, 2_c)) = select(k == 0_c, x(i, j), z(i, j));
  constexpr auto loss = define<"loss">() = sum(over(i, j, k), two(i, j, k) * two(i, j, k));
  expect_all_right(false, loss, grad(loss, x), grad(loss, z));
  expect_all_right(true, two, grad(loss, z));
}

// Halves of a place are loads that repeat, and which half it is a pattern of the lanes.
TEST(interleaved_columns, halves_of_places) {
  constexpr auto x = tensor<"x", float, 2>;
  constexpr auto z = tensor<"z", float, 2>;
  constexpr auto by_two = define<"by_two">(i, p.in(0_c, 2_c * extent(x, dim<1>))) =
      select(p % 2_c == 0_c, x(i, quotient(p, 2_c)), z(i, quotient(p, 2_c)));
  constexpr auto by_four = define<"by_four">(i, p.in(0_c, 4_c * extent(x, dim<1>))) =
      select(p % 4_c < 3_c, x(i, quotient(p, 4_c)), z(i, quotient(p, 4_c)));
  expect_all_right(false, by_two);
  expect_all_right(false, by_four);
}

}  // namespace
}  // namespace sheaf::test::interleaved_tests
