// How do I reduce a matrix along either axis, a tensor along several, and keep the reduced dimension?
// With indices, the axes that are not reduced are the definition's; by position, as elsewhere. (Catalogue: A6)
#include <sheaf/sheaf.hpp>
#include <support/check.hpp>

using namespace sheaf;

constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto y = tensor<"y", float, 3>;

constexpr auto columns = define<"columns">(j) = sum(i, x(i, j));
constexpr auto rows = define<"rows">(i) = mean(j, x(i, j));

int main() {
  const auto matrix = support::counting(array<float, 2>(16, 10));
  const auto [c, r, c2, r2, kept] =
      compile(columns, rows, sum(x, dim<0>), mean(x, dim<1>), mean<keepdim>(x, dim<-1>))(x = matrix);
  support::show("sum over rows, [16,10] gives [10]:", c);
  support::show("mean over columns, [16,10] gives [16]:", r);
  support::expect("sums", c, {1200, 1216, 1232, 1248, 1264, 1280, 1296, 1312, 1328, 1344});
  for (int k = 0; k < 16; ++k)
    support::expect("means", r(k) == static_cast<float>(10 * k) + 4.5f && r2(k) == r(k) && kept(k, 0) == r(k));
  for (int k = 0; k < 10; ++k) support::expect("by position", c2(k) == c(k));

  const auto cube = support::counting(array<float, 3>(2, 3, 4));
  const auto [both_ends, all_of_it] = compile(sum(y, dim<0>, dim<2>), sum(y))(y = cube);
  support::show("sum over dimensions 0 and 2, [2,3,4] gives [3]:", both_ends);
  support::expect("several", both_ends, {60, 92, 124});
  support::expect("all", all_of_it() == 276);
  // columns(j) = 0_c; does not compile: "expressions are not assigned to" (tests/reject/assignment_to_an_element.cpp).
}

/* Output:
sum over rows, [16,10] gives [10]:
  1200 1216 1232 1248 1264 1280 1296 1312 1328 1344
mean over columns, [16,10] gives [16]:
  4.5 14.5 24.5 34.5 44.5 54.5 64.5 74.5 84.5 94.5 104.5 114.5 124.5 134.5 144.5 154.5
sum over dimensions 0 and 2, [2,3,4] gives [3]:
  60 92 124
*/
