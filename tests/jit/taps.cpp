// Windows written out: what the plan says, how lanes meet memory, and that no check runs for taps that are inside.
#include <sheaf/dsl/sugar/sugar.hpp>

#include "plan_harness.hpp"

namespace sheaf::test {
namespace {

constexpr auto image = tensor<"image", float, 3>;
constexpr pool halving{.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}};

bool has(const std::string& text, const char* words) { return text.find(words) != std::string::npos; }
int count(const std::string& text, const std::string& words) {
  int n = 0;
  for (std::size_t at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) ++n;
  return n;
}

planned plan_of(const auto&... outputs) {
  return plan_program(detail::build_graph<std::remove_cvref_t<decltype(outputs)>...>(),
                      {.inputs = {{{64, 64, 224}, true}, {{64, 32, 112}, true}}, .unit_outputs = {}, .steer = {}, .on = {}}, "taps");
}

TEST(taps, forward) {
  const planned p = plan_of(avg_pool2d<halving>(image));
  EXPECT_TRUE(has(p.text, "3 taps written out")) << p.text;
  EXPECT_FALSE(has(p.text, "check")) << p.text;
  const std::string code = ir::print(p.code);
  EXPECT_TRUE(has(code, "load spread step 2")) << code;
  EXPECT_FALSE(has(code, "gather")) << code;
  // The first lanes are masked, those between are not; the last would be for other extents.
  EXPECT_EQ(count(code, "vector i2."), 3) << code;
  EXPECT_EQ(count(code, "mask"), 4) << code;
}

TEST(taps, backward) {
  const planned p = plan_of(vjp(avg_pool2d<halving>(image), image));
  EXPECT_TRUE(has(p.text, "2 taps written out")) << p.text;
  EXPECT_FALSE(has(p.text, "check")) << p.text;
  const std::string code = ir::print(p.code);
  EXPECT_TRUE(has(code, "load spread step 1 repeat 2 phase 0")) << code;
  EXPECT_TRUE(has(code, "pattern 01")) << code;  // odd places have two windows
  EXPECT_FALSE(has(code, "gather")) << code;
}

TEST(taps, a_maximum_and_its_shares_are_kept) {
  constexpr auto y = max_pool2d<halving>(image);
  const planned p = plan_of(y, vjp(y, image));
  EXPECT_EQ(count(p.text, "\nkernel") + has(p.text.substr(0, 6), "kernel"), 1) << p.text;
  EXPECT_EQ(count(p.text, "-> workspace"), 1) << p.text;
  EXPECT_EQ(p.plan.stages.size(), 3u) << p.text;
}

}  // namespace
}  // namespace sheaf::test
