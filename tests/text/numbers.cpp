// Numbers of a text are the nearest of their type, and what is printed of one reads back as the same bits.
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

#include <gtest/gtest.h>
#include <sheaf/dsl/graph/print.hpp>
#include <sheaf/dsl/text/parse.hpp>

namespace sheaf::test::numbers_tests {
namespace {

graph parsed(const std::string& text) { return parse(text.data(), static_cast<int>(text.size())); }
std::string said(const flat<char>& words) { return std::string(words.begin(), words.end()); }

// The number that `y` is, as f64 bits.
std::uint64_t bits_of(const graph& g) {
  return std::bit_cast<std::uint64_t>(g[g.arg(g.outputs[0], 0)].attribute);
}
std::uint64_t bits_of(double x) { return std::bit_cast<std::uint64_t>(x); }

void expect_back(element type, double x) {
  graph g;
  const node_id y = define(g, g.name("y", 1), number(g, type, x), nullptr, 0);
  g.outputs.push(y);
  const std::string text = said(print(g));
  const graph again = parsed(text);
  ASSERT_FALSE(again.failed()) << text;
  EXPECT_EQ(again.type(again.outputs[0]), type) << text;
  EXPECT_EQ(bits_of(again), bits_of(x)) << text;
}

TEST(numbers, printed_and_read_are_the_same_bits) {
  for (std::uint32_t b = 0; b < 65536; b += 7) {
    const double half = to_double(float16{static_cast<std::uint16_t>(b)});
    const double brain = to_double(bfloat16{static_cast<std::uint16_t>(b)});
    if (half - half == 0) expect_back(element::f16, half);
    if (brain - brain == 0) expect_back(element::bf16, brain);
  }
  std::mt19937_64 random(1);
  for (int k = 0; k < 4000; ++k) {
    const std::uint64_t bits = random();
    const float narrow = std::bit_cast<float>(static_cast<std::uint32_t>(k % 4 == 0 ? bits & 0x807fffff : bits));
    const double wide = std::bit_cast<double>(k % 4 == 0 ? bits & 0x800fffffffffffff : bits);  // every 4th is subnormal
    if (narrow - narrow == 0) expect_back(element::f32, static_cast<double>(narrow));
    if (wide - wide == 0) expect_back(element::f64, wide);
  }
  for (const element type : {element::f16, element::bf16, element::f32, element::f64})
    for (const double x : {math::infinity, -math::infinity, 0.0, -0.0}) expect_back(type, x);
}

// Decimals of up to 1200 digits, among them the middle of two numbers and what is a little beside it.
TEST(numbers, of_any_number_of_digits) {
  std::mt19937_64 random(2);
  for (int k = 0; k < 600; ++k) {
    const std::uint32_t bits = static_cast<std::uint32_t>(random()) & 0x7effffff;
    const double middle = (static_cast<double>(std::bit_cast<float>(bits)) +
                           static_cast<double>(std::bit_cast<float>(bits + 1))) / 2;
    const double wide = std::bit_cast<double>(random() & 0x7fdfffffffffffff);
    char narrow_text[400], wide_text[1300];
    std::snprintf(narrow_text, sizeof narrow_text, "%.200f", k % 3 == 2 ? std::nextafter(middle, 0) : middle);
    std::snprintf(wide_text, sizeof wide_text, "%.1100e", wide);
    const std::string narrow = std::string(narrow_text) + (k % 3 == 0 ? "" : k % 3 == 1 ? "1" : "9");
    const float nearest = std::strtof(narrow.c_str(), nullptr);
    EXPECT_EQ(bits_of(parsed("y = " + narrow + "f32")), bits_of(static_cast<double>(nearest))) << narrow;
    EXPECT_EQ(bits_of(parsed("y = " + std::string(wide_text) + "f64")), bits_of(wide)) << wide_text;
  }
  const std::string zeros(1200, '0');
  EXPECT_EQ(bits_of(parsed("y = 1" + zeros + "e-1200f64")), bits_of(1.0));
  EXPECT_EQ(bits_of(parsed("y = 0." + zeros + "1e1201f64")), bits_of(1.0));
  EXPECT_EQ(bits_of(parsed("y = 9007199254740993." + zeros + "1f64")), bits_of(9007199254740994.0));
  EXPECT_EQ(bits_of(parsed("y = cast<f32>(18014399583223809)")), bits_of(0x1p54 + 0x1p31));  // not by way of f64
  EXPECT_EQ(bits_of(parsed("y = 1e99999999999999999999f64")), bits_of(math::infinity));
  EXPECT_EQ(bits_of(parsed("y = 0.0e99999999999999999999f64")), bits_of(0.0));
}

}  // namespace
}  // namespace sheaf::test::numbers_tests
