// Kernels that do not need each other, one that reads and one that writes, are interleaved: what the plan says, and
// that values are right.
#include "tie_data.hpp"

namespace sheaf::test::horizontal_fusion_tests {
namespace {

constexpr auto m = axis<"m">;
constexpr auto t = axis<"t">;
constexpr auto f = axis<"f">;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto cut = tensor<"cut", std::int64_t, 2>;
constexpr auto pooled = define<"pooled">(m, f) = mean<empty::zero>(t.in(cut(m, 0_c), cut(m, 1_c)), x(t, f));
constexpr std::int64_t slices = 203, rows = 17408, columns = 4;

// One after the other, with rows between them that no slice has, and an empty one now and then. The gradient's tasks
// are 256 rows.
struct both_of_slices : trial {
  both_of_slices() : trial(detail::build_graph<decltype(pooled), decltype(vjp(pooled, x))>()) {
    random("x", {rows, columns}).random("cotangent_pooled", {slices, columns}).with("cut", {slices, 2}, bounds());
    on.last_cache = 4096, on.wake = 1;
  }
  static std::vector<double> bounds() {
    std::vector<double> list;
    for (std::int64_t k = 0; k < slices; ++k) {
      list.push_back(static_cast<double>(85 * k));
      list.push_back(static_cast<double>(85 * k + k * 31 % 80));
    }
    return list;
  }
};
int iterations_in(trial& test) { return count_of((test.plan_text(), ir::print(test.p->code)), "parallel iteration."); }

TEST(interleaved, a_value_and_a_gradient_are_interleaved) {
  both_of_slices test;
  EXPECT_NE(test.plan_text().find("in 16 iterations with dpooled_dx: memory does both faster"), std::string::npos)
      << test.plan_text();
  EXPECT_EQ(iterations_in(test), 1) << ir::print(test.p->code);
  EXPECT_EQ(test.p->code.kernels.size() + 1, test.p->plan.kernels.size());
  test.expect_right();
}

TEST(interleaved, bits_are_those_of_kernels_alone) {
  both_of_slices together, alone;
  alone.overrides.fusion = fusion::off;
  ASSERT_EQ(together.run(), 0);
  ASSERT_EQ(alone.run(), 0);
  EXPECT_EQ(iterations_in(alone), 0);
  for (std::size_t k = 0; k < together.outputs.size(); ++k)
    EXPECT_TRUE(together.outputs[k].bytes == alone.outputs[k].bytes) << k;
}

constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto k = axis<"k">;
constexpr auto p = axis<"p">;
constexpr auto q = axis<"q">;
constexpr auto y = tensor<"y", float, 2>;
constexpr auto u = tensor<"u", float, 1>;
constexpr auto v = tensor<"v", float, 1>;
constexpr auto w = tensor<"w", float, 1>;
constexpr auto sums_of_x = define<"sums_of_x">(i) = sum(j, x(i, j));
constexpr auto sums_of_y = define<"sums_of_y">(p) = sum(q, y(p, q));
constexpr auto products = define<"products">(k, m) = u(k) * v(m);
constexpr auto scaled_sums = define<"scaled_sums">(t, i) = w(t) * sums_of_x(i);
constexpr auto more_products = define<"more_products">(t, f) = w(t) * v(f);

// Two pairs, of which one stands within the other, or begins within it and ends after it.
template <class Last>
void expect_two_pairs(Last, std::int64_t less, std::int64_t rows_of_products) {
  for (const bool force_for_tests : {false, true}) {
    trial test = trial_of(sums_of_x, sums_of_y, products, Last{});
    test.random("x", {301, 512})
        .random("y", {299 / less, 512})
        .random("u", {rows_of_products})
        .random("v", {512})
        .random("w", {303});
    test.on.last_cache = 4096, test.on.wake = 1, test.force_for_tests = force_for_tests;
    EXPECT_EQ(iterations_in(test), 2) << test.plan_text();
    test.expect_right();
  }
}
TEST(interleaved, a_pair_within_another) { expect_two_pairs(more_products, 8, 37); }
TEST(interleaved, a_pair_that_begins_within_another) { expect_two_pairs(scaled_sums, 1, 300); }

TEST(interleaved, not_where_one_needs_the_other) {
  constexpr auto spread = define<"spread">(f) = exp(sum(t, x(t, f)));
  trial test = trial_of(spread, vjp(spread, x));
  test.random("x", {rows, 64}).random("cotangent_spread", {64});
  test.on.last_cache = 4096;
  EXPECT_EQ(iterations_in(test), 0) << test.plan_text();
}

TEST(interleaved, not_where_data_stays_in_the_cache_or_threads_share_nothing) {
  both_of_slices small, serial;
  small.on.last_cache = 1 << 30;
  serial.overrides.sharing = sharing::off;
  EXPECT_EQ(iterations_in(small), 0) << small.plan_text();
  EXPECT_EQ(iterations_in(serial), 0) << serial.plan_text();
  serial.expect_right();
}

}  // namespace
}  // namespace sheaf::test::horizontal_fusion_tests
