// Dimensions and indices declared with extent 0: values, derivatives and what is printed, by the kernels as by the
// reference.
#include <gtest/gtest.h>

#include <cstdio>

#include <sheaf/text.hpp>

namespace sheaf::test::empty_tests {
namespace {

using arguments = std::vector<named_argument>;

// The outputs with their extents, or the sentence.
std::string worth(const std::string& text, const arguments& with, jit::backend runs_on) {
  try {
    std::string all;
    for (const any_array& a : text_program(text, {}, runs_on)(with)) {
      std::int64_t count = 1;
      for (int d = 0; d < a.rank(); ++d) {
        all += std::to_string(a.extent(d)) + (d + 1 < a.rank() ? "x" : ":");
        count *= a.extent(d);
      }
      for (std::int64_t k = 0; k < count; ++k) {
        const double v = static_cast<const double*>(a.data())[k];
        char number[40];
        std::snprintf(number, sizeof number, " %g", v);
        all += v != v ? " nan" : number;
      }
      all += ";";
    }
    return all;
  } catch (const error& e) {
    return e.what();
  }
}
void expect(const std::string& text, const arguments& with, const std::string& words) {
  const std::string printed = text_program(text).text(with);
  EXPECT_EQ(text_program(printed).text(with), printed);
  for (const auto runs_on : {jit::backend::reference, jit::backend::chosen}) {
    EXPECT_EQ(worth(text, with, runs_on), words) << text;
    EXPECT_EQ(worth(printed, with, runs_on), words) << printed;
  }
}

double none[1] = {};
const double four[4] = {1, 2, 3, 4};
const std::int64_t no_extents[2] = {4, 0}, no_strides[2] = {1, 1};
const view<const double, 2> rows_of_none(none, no_extents, no_strides);
const view<const double, 1> nothing(none, no_extents + 1, no_strides);

TEST(extent_0, of_an_input) {
  expect("input x: f64[0]\ns = sum(i, x(i) * x(i)); m = mean(i, x(i)); p = prod(i, x(i)); e = logsumexp(i, x(i))\n"
         "y(i) = x(i) * 2\noutput y, s, m, p, e, max(i, x(i)), grad(s, x), grad(m, x), grad(p, x), grad(e, x)",
         {{"x", nothing}}, "0:; 0; nan; 1; -inf; -inf;0:;0:;0:;0:;");
}
TEST(extent_0, of_one_dimension) {
  expect("input x: f64[4, 0]\ny(a) = sum(b, x(a, b)); h(b) = max(a, x(a, b))\n"
         "l = sum(a, y(a) * y(a)) + sum(b, h(b)); d = jvp(l, x, x)\n"
         "output y, h, l, d, grad(l, x), vjp(y, x, y)",
         {{"x", rows_of_none}}, "4: 0 0 0 0;0:; 0; 0;4x0:;4x0:;");
}
TEST(extent_0, of_an_index) {
  expect("input x: f64[4]\naxis k: 0\nu(k, i) = x(i) * k; r(k) = sum(s.in(0, k + 1), x(s)); n = sum(k, r(k))\n"
         "t(i) = sum(k, x(i) * k) + x(i); v = sum(i, t(i)); l = sum(over(k, i), u(k, i))\n"
         "output u, r, n, t, grad(v, x), grad(l, x), vjp(u, x, u), vjp(r, x, r), jvp(u, x, x)",
         {{"x", four}}, "0x4:;0:; 0;4: 1 2 3 4;4: 1 1 1 1;4: 0 0 0 0;4: 0 0 0 0;4: 0 0 0 0;0x4:;");
}
// What is guarded is never read: a number is no mistake of the text there.
TEST(extent_0, padded_and_clamped) {
  expect("input x: f64[4, 0]\np(a.in(0, 4)) = x.padded(3)(a, 0)\noutput p, vjp(p, x, p)", {{"x", rows_of_none}},
         "4: 3 3 3 3;4x0:;");
  expect("input x: f64[4]\np = x.padded(3)(7) + x.padded(5)(-1)\noutput p, grad(p, x)", {{"x", four}},
         " 8;4: 0 0 0 0;");
  const std::string clamped = "input x: f64[4, 0]\np(a.in(0, 4)) = x.clamped(a, -1)";
  const std::string outside = "tensor x, dimension 1: expected a subscript from 0 to -1, found 0";
  EXPECT_EQ(worth(clamped, {{"x", rows_of_none}}, jit::backend::reference), outside);
  EXPECT_EQ(worth(text_program(clamped).text(), {{"x", rows_of_none}}, jit::backend::chosen), outside + " for 0");
}

}  // namespace
}  // namespace sheaf::test::empty_tests
