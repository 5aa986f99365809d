// How large tasks are: parts of the loop within a few batches, fewer iterations than parts among them.
#include "tie_data.hpp"

namespace sheaf::test::tasks_tests {
namespace {

constexpr auto b = axis<"b">;
constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto x = tensor<"x", float, 3>;
constexpr auto squares = define<"squares">(b, i, j) = x(b, i, j) * x(b, i, j);

TEST(tasks, parts_of_the_loop_within_a_few_batches) {
  for (const bool forced : {false, true})
    for (const std::vector<std::int64_t>& extents :
         {std::vector<std::int64_t>{2, 7, 40}, {5, 1, 19}, {3, 3, 1}, {0, 4, 8}}) {
      trial test(detail::build_graph<decltype(squares)>());
      test.force_for_tests = forced;
      test.random("x", extents);
      EXPECT_EQ(test.plan_text().find(" and 3 parts of ") != std::string::npos, forced) << test.plan_text();
      test.expect_right();
    }
}

}  // namespace
}  // namespace sheaf::test::tasks_tests
