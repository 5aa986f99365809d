// Kernels that do not need each other, one that reads and one that writes, take turns: what the plan says, and that values are right.
#include "tie_data.hpp"

namespace sheaf::test {
namespace {

constexpr auto m = axis<"m">;
constexpr auto t = axis<"t">;
constexpr auto f = axis<"f">;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto cut = tensor<"cut", std::int64_t, 2>;
constexpr auto pooled = define<"pooled">(m, f) = mean<empty::zero>(t.in(cut(m, 0_c), cut(m, 1_c)), x(t, f));
constexpr std::int64_t slices = 203, rows = 17408, columns = 4;

// One after the other, with rows between them that no slice has, and an empty one now and then. The gradient's pieces are 256 rows.
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
int turns_in(trial& test) { return count_of((test.plan_text(), ir::print(test.p->code)), "parallel turn."); }

TEST(beside, a_value_and_a_gradient_take_turns) {
  both_of_slices test;
  EXPECT_NE(test.plan_text().find("in 16 turns with dpooled_dx: one reads while the other writes"), std::string::npos)
      << test.plan_text();
  EXPECT_EQ(turns_in(test), 1) << ir::print(test.p->code);
  EXPECT_EQ(test.p->code.kernels.size() + 1, test.p->plan.kernels.size());
  test.expect_right();
}

TEST(beside, bits_are_those_of_kernels_alone) {
  both_of_slices together, alone;
  alone.steer.fusion = fusion::off;
  ASSERT_EQ(together.run(), 0);
  ASSERT_EQ(alone.run(), 0);
  EXPECT_EQ(turns_in(alone), 0);
  for (std::size_t k = 0; k < together.outputs.size(); ++k)
    EXPECT_TRUE(together.outputs[k].bytes == alone.outputs[k].bytes) << k;
}

TEST(beside, not_where_one_needs_the_other) {
  constexpr auto spread = define<"spread">(f) = exp(sum(t, x(t, f)));
  trial test = trial_of(spread, vjp(spread, x));
  test.random("x", {rows, 64}).random("cotangent_spread", {64});
  test.on.last_cache = 4096;
  EXPECT_EQ(turns_in(test), 0) << test.plan_text();
}

TEST(beside, not_where_data_stays_in_the_cache_or_threads_share_nothing) {
  both_of_slices small, serial;
  small.on.last_cache = 1 << 30;
  serial.steer.sharing = sharing::off;
  EXPECT_EQ(turns_in(small), 0) << small.plan_text();
  EXPECT_EQ(turns_in(serial), 0) << serial.plan_text();
  serial.expect_right();
}

}  // namespace
}  // namespace sheaf::test
