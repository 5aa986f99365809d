// Text read in constant evaluation: numbers to the nearest, programs and their gradients, mistakes with their places.
#include <sheaf/dsl/graph/print.hpp>
#include <sheaf/dsl/text/parse.hpp>
#include <support/reads.hpp>

using namespace sheaf;

namespace {

template <std::size_t N>
constexpr double number(const char (&text)[N]) {
  return decimal::value_of(text, static_cast<int>(N) - 1);
}
static_assert(number("0") == 0 && number("17") == 17 && number("0.1") == 0.1 && number("1e-3") == 1e-3);
static_assert(number("1.7976931348623157e308") == 0x1.fffffffffffffp1023 && number("1e309") == math::infinity);
static_assert(number("4.9406564584124654e-324") == 0x1p-1074 && number("2e-324") == 0 && number("3e-324") == 0x1p-1074);
static_assert(number("2.2250738585072011e-308") == 0x0.fffffffffffffp-1022);           // the largest denormal
static_assert(number("9007199254740993") == 0x1p53);                                   // a tie, to even
static_assert(number("9007199254740993.0000000000000000001") == 0x1p53 + 2);           // a little above it
static_assert(number("0.1000000000000000055511151231257827") == 0.1 &&
              number("123456789012345678901234567890") == 0x1.8ee90ff6c373ep96);

static_assert(decimal::value_of("1.00000005960464477540", 22, element::f32) == 0x1.000002p0);  // by way of f64: 1

template <std::size_t N>
constexpr bool says(const char (&program)[N], const char* sentence) {
  return reads(parse(program, static_cast<int>(N) - 1).error, sentence);
}
static_assert(says("input x: f32[?]\ny(i) = x(i) + * 2", "line 2, column 15: expected an expression, found *"));
static_assert(says("input x: f32[?]; y(i) = x(i, i)",
                   "line 1, column 25: subscript: tensor x has rank 1, got 2 subscripts"));

template <std::size_t N>
constexpr bool prints(const char (&program)[N], const char* text) {
  return reads(print(parse(program, static_cast<int>(N) - 1)), text);
}
static_assert(prints("input x: f64[?]\nloss = sum(i, x(i) * x(i))\noutput grad(loss, x)",
                     "input x: f64[?]\naxis i: extent(x, 0)\nloss = sum(i, x(i) * x(i))\ndloss_dx(i) = x(i) + x(i)\n"
                     "output dloss_dx\ncheck loss"));

}  // namespace
