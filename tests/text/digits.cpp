// Conditions that ask for digits of numbers, at the ends of their type and over nothing: by kernels as by the
// reference.
#include "answers.hpp"

namespace sheaf::test::digits_tests {
namespace {

array<double, 1> counted(std::int64_t count) {
  array<double, 1> a(count);
  for (std::int64_t k = 0; k < count; ++k) a.data()[k] = static_cast<double>(k + 1);
  return a;
}
const array<double, 1> four = counted(4), nine = counted(9);

// Numbers wrap, so two of c say the same.
TEST(text_digits, beyond_the_type) {
  expect("input w: f64[?]\n"
         "y(r.in(0, 4)) = sum(over(c.in(0, 8), q.in(0, 4).where(r == 4611686018427387904 * c + q)), w(q) * (c + 1))\n"
         "output y",
         {{"w", four}}, "6 12 18 24 ");
}

// A bound that no number is beyond.
TEST(text_digits, slices_beside_the_largest_number) {
  array<std::int64_t, 1> begin(4);
  for (int k = 0; k < 4; ++k) begin.data()[k] = 10 * k;
  const array<std::int64_t, 1> none = filled<std::int64_t>(4, 0);
  std::string words;
  for (int k = 0; k < 60; ++k) words += k < 33 && k % 10 < 3 ? number(k / 10 + 1) : "0 ";
  expect("input x: f64[?]\ninput a: i64[?]\ninput b: i64[?]\n"
         "y(k.in(0, 60)) = sum(i.where(0 <= k - a(i) && k - a(i) < 3 && k <= 9223372036854775807 - b(i)), x(i))\n"
         "output y",
         {{"x", four}, {"a", begin}, {"b", none}}, words);
}

TEST(text_digits, over_nothing) {
  const array<double, 2> m = filled<double>(3, 3, 1);
  expect("input m: f64[?, ?]\ninput w: f64[?]\n"
         "y(a.in(0, 2), b.in(0, 2)) = "
         "sum(l.in(0, 0).where(a == l / (extent(m, 0) - 2) && b == l % (extent(m, 0) - 2)), w(l))\noutput y",
         {{"m", m}, {"w", nine}}, "0 0 0 0 ");
}

// Read at a digit, but at fewer places than there are.
TEST(text_digits, few_values_of_many) {
  expect("input w: f64[?]\nm(k) = sum(j.in(0, k + 1), w(j)) + w(k)\ny(c.in(0, 6)) = m(c / 2)\noutput y",
         {{"w", nine}}, "2 2 5 5 9 9 ");
}

}  // namespace
}  // namespace sheaf::test::digits_tests
