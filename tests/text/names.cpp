// The printed form of a program names each tensor once, and is a program.
#include <gtest/gtest.h>

#include <string>

#include <sheaf/dsl/graph/print.hpp>
#include <sheaf/dsl/text/parse.hpp>

namespace sheaf::test::names_tests {
namespace {

std::string printed(const std::string& text) {
  const graph g = parse(text.data(), static_cast<int>(text.size()));
  const flat<char> said = g.failed() ? g.error : print(g);
  return std::string(said.data(), static_cast<std::size_t>(said.size()));
}

// Both gradients make a d_d4, and what is left of the first is not printed: the second is d_d4 all the same.
TEST(names, what_is_left_over_takes_no_name) {
  const std::string text = printed(
      "input x: f64[?, ?]\ninput w: f64[0]\ninput cut: i32[?, ?]\ninput c: f64[0, 0]\n"
      "monoid latest((a, b), (c, d)) = tuple(maximum(a, c), select(c >= a, d, b)) identity tuple(-9, 0) in_order\n"
      "d4(m) = get<0>(fold(latest, u.in(0, 0), tuple(w(m), x(m, u))))\n"
      "d7(r.in(0, extent(cut, 1)), k.in(0, extent(x, 1))) = d4(remainder(r, 0))\n"
      "loss = sum(over(i, j), d7(i, j))\noutput vjp(d7, x, c), grad(loss, w)");
  EXPECT_EQ(text.find("d_d4'"), std::string::npos) << text;
  EXPECT_EQ(printed(text), text);
}

}  // namespace
}  // namespace sheaf::test::names_tests
