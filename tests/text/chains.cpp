// Chains of 10,000 operations and more: by the kernels as by the reference, in time that grows as their length does,
// and without the end of the stack.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include <sheaf/text.hpp>

namespace sheaf::test::chains_tests {
namespace {

std::string times(int count, const std::string& part) {
  std::string all;
  for (int k = 0; k < count; ++k) all += part;
  return all;
}
struct results {
  double value = 0, slope = 0;
};
// Of outputs of rank 0, the second a gradient.
results worth(const std::string& text, double x, jit::backend runs_on) {
  const std::vector<any_array> found = text_program(text, {}, runs_on)({{"x", x}});
  return {found[0].as<const double, 0>()(), found.size() > 1 ? found[1].as<const double, 0>()() : 0};
}
void expect(const std::string& text, double x, const results& expected) {
  for (const auto runs_on : {jit::backend::reference, jit::backend::chosen}) {
    const results found = worth(text, x, runs_on);
    EXPECT_NEAR(found.value, expected.value, 1e-9 * std::abs(expected.value));
    EXPECT_NEAR(found.slope, expected.slope, 1e-9 * std::abs(expected.slope));
  }
}
std::string mistake(const std::string& text) {
  try {
    worth(text, 0, jit::backend::reference);
  } catch (const error& e) {
    return e.what();
  }
  return "";
}

const std::string head = "input x: f64\ny = ", with_slope = "\noutput y, grad(y, x)";

TEST(chains, of_operators) {
  expect(head + "x" + times(10000, " + 1.5") + with_slope, 0.25, {15000.25, 1});
  expect(head + "x" + times(5000, " * x + 1") + with_slope, 0.5, {2500.75, 5000});
}
TEST(chains, of_functions) {
  results sines{0.3, 1};
  for (int k = 0; k < 5000; ++k) {
    sines.slope *= std::cos(sines.value);
    sines.value = std::sin(sines.value);
  }
  expect(head + times(5000, "sin(") + "x" + times(5000, ")") + with_slope, 0.3, sines);
}
// What is shared is walked once: twice at each of 200 levels would be for ever.
TEST(chains, of_what_is_shared) {
  std::string text = "input x: f64\ny0 = x";
  for (int k = 0; k < 200; ++k) {
    const std::string before = "y" + std::to_string(k);
    text += "\ny" + std::to_string(k + 1) + " = maximum(" + before + " * 0.75, " + before + " - 7)";
  }
  expect(text + "\noutput y200, grad(y200, x)", 1, {std::pow(0.75, 200), std::pow(0.75, 200)});
}
TEST(chains, of_definitions) {
  std::string text = "input x: f64\ny0 = x";
  for (int k = 0; k < 25; ++k) {
    const std::string before = "y" + std::to_string(k);
    text += "\ny" + std::to_string(k + 1) + " = " + before + times(1000, " + 0.5");
  }
  expect(text + "\noutput y25, grad(y25, x)", 1, {12501, 1});
}
TEST(chains, beyond_the_limit) {
  EXPECT_EQ(mistake(head + "x" + times(10001, " + 1")),
            "text: line 2, column 40007: expression: more than 10000 operators in a row; define parts of it");
  EXPECT_EQ(mistake(head + times(20000, "(") + "x" + times(20000, ")")),
            "text: line 2, column 10005: expression: nested deeper than 10000 levels; define parts of it");
  std::string text = "input x: f64\ny0 = x";
  for (int k = 0; k < 5; ++k)
    text += "\ny" + std::to_string(k + 1) + " = y" + std::to_string(k) + times(9000, " + 0.5");
  EXPECT_EQ(mistake(text), "text: line 6, column 1: definition y4: more than 30000 operations one within another, "
                           "those of the definitions that it reads counted");
}

}  // namespace
}  // namespace sheaf::test::chains_tests
