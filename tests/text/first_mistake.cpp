// Of several mistakes of a call the first is the same by the kernels as by the reference: arguments, their memory,
// their extents, and then what is read.
#include <gtest/gtest.h>

#include <sheaf/text.hpp>

namespace sheaf::test::first_mistake_tests {
namespace {

const char* const text =
    "input x: f64[?]\ninput w: f64[?, 2]\ninput p: i64[?]\n"
    "y(i) = x(p(i)) + w(i, 0)\nm(j.in(0, 2)) = max<empty::error>(i.where(p(i) > 20), x(i))";

template <class T>
view<const T, 1> list(const T* data, std::int64_t count) {
  const std::int64_t extents[1] = {count}, strides[1] = {1};
  return view<const T, 1>(data, extents, strides);
}

std::string mistake(const std::vector<named_argument>& arguments, jit::backend runs_on) {
  try {
    text_program(text, {}, runs_on)(arguments);
  } catch (const error& e) {
    return e.what();
  }
  return "none";
}
void expect(const std::vector<named_argument>& arguments, const std::string& start) {
  const std::string slow = mistake(arguments, jit::backend::reference), fast = mistake(arguments, jit::backend::chosen);
  EXPECT_EQ(slow.substr(0, start.size()), start);
  EXPECT_EQ(fast.substr(0, start.size()), start);
}

TEST(first_mistake, is_one_for_all_backends) {
  const double numbers[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  const std::int64_t places[4] = {0, 9, 1, 2}, extents[2] = {3, 3}, right[2] = {3, 2}, strides[2] = {2, 1};
  const view<const double, 2> wide(numbers, extents, strides), good(numbers, right, strides);
  const named_argument p("p", list(places, 4)), short_p("p", list(places, 3));
  const named_argument x("x", list(numbers, 3)), no_x("x", list<double>(nullptr, 3));
  expect({no_x, {"w", list(numbers, 3)}, p}, "call: expected argument w (f64, rank 2), found w (f64, rank 1)");
  expect({x, p}, "call: expected argument w (f64, rank 2), found none");
  expect({no_x, {"w", wide}, p}, "argument x: expected memory for its elements, found a null pointer");
  expect({x, {"w", wide}, p}, "argument w, dimension 1: expected extent 2, found 3");
  expect({x, {"w", good}, p}, "index i: expected one extent: ");
  // What the program demands of data comes before what its subscripts read.
  expect({x, {"w", good}, short_p}, "max over i: expected at least one element, found none");
}

}  // namespace
}  // namespace sheaf::test::first_mistake_tests
