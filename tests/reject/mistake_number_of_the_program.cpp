// expect: expression: a bare number; write it as 2_c, 0.5_c or constant<1.0 / 3>, or as a scalar<"name", T> where it is known at run time
#include <sheaf/sheaf.hpp>

using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto v = tensor<"v", float, 1>;
constexpr auto x = tensor<"x", float, 2>;
int main() {
  int n = 3;
  constexpr auto y = define<"y">(i) = v(i + n);
}
