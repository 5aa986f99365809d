// Updates of several indices are walked, and a row's added, as what names the rows lies in memory.
#include "plan_harness.hpp"

namespace sheaf::test::in_memory_order_tests {
namespace {

constexpr auto b = axis<"b">;
constexpr auto t = axis<"t">;
constexpr auto i = axis<"i">;
constexpr auto f = axis<"f">;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto w = tensor<"w", float, 3>;
constexpr auto ids = tensor<"ids", std::int32_t, 2>;
constexpr std::int64_t sentences = 30, words = 40, features = 17;

std::vector<double> places(std::int64_t below) {
  std::vector<double> list;
  for (std::int64_t k = 0; k < sentences * words; ++k) list.push_back(static_cast<double>(k * k % below));
  return list;
}

std::size_t position(const std::string& code, const std::string& text) { return code.find(text); }

TEST(in_memory_order, gradient_of_an_embedding) {
  constexpr auto loss = define<"loss">() = sum(over(b, t, f), x(ids(b, t), f) * w(b, t, f));
  trial one = trial_of(grad(loss, x));
  one.with("ids", {sentences, words}, places(9)).random("w", {sentences, words, features});
  one.random("x", {9, features}).expect_right(1e-5);
  const std::string code = ir::print(one.p->code);
  const std::size_t outer = position(code, "serial b."), inner = position(code, "serial t.");
  ASSERT_NE(outer, std::string::npos) << code;
  EXPECT_LT(outer, inner) << code;
}

// Whatever the order in which a program names them; a position is that of the first in the order that it names.
TEST(in_memory_order, of_sums_but_not_of_positions) {
  constexpr auto sums = define<"sums">(i.in(0_c, 9_c)) = sum(over(t, b.where(ids(b, t) == i)), w(b, t, 0_c));
  constexpr auto first = define<"first">(i.in(0_c, 9_c)) =
      argmax(over(t, b.where(ids(b, t) == i)), cast<float>(ids(b, t)));
  trial one = trial_of(sums, first);
  one.with("ids", {sentences, words}, places(9)).random("w", {sentences, words, features}).expect_right(1e-5);
}

}  // namespace
}  // namespace sheaf::test::in_memory_order_tests
