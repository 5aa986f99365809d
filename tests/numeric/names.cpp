// Arguments and outputs are matched by symbol, and a symbol is its expression: automatic names may coincide with each
// other and with names of the program's author, in the text they are numbered and give way. (The two of one name are
// also what each program here would mix up if it went by name.)
#include <support/both.hpp>

namespace sheaf::test {
namespace {

constexpr auto i = axis<"i">;
constexpr auto x = tensor<"x", double, 1>;
constexpr auto v = tensor<"v", double, 1>;
constexpr auto w = tensor<"w", double, 1>;
constexpr auto y = define<"y">(i) = x(i) * x(i);
const std::vector<double> three{1, 2, 3};

using doubles = std::vector<double>;

TEST(names, two_slices_of_one_tensor) {
  constexpr auto head = slice(x, range<0, 2>);
  constexpr auto tail = slice(x, range<1, 3>);
  const auto p = compile(head, tail);
  doubles a(2), b(2);
  p(x = three, head = a, tail = b);
  EXPECT_EQ(a, (doubles{1, 2}));
  EXPECT_EQ(b, (doubles{2, 3}));
  const auto first = p(x = three, tail = a);
  EXPECT_EQ(a, (doubles{2, 3}));
  EXPECT_EQ(first(0), 1);
  EXPECT_NE(std::string(p.text()).find("slice_x1(i0"), std::string::npos) << p.text();
}

TEST(names, products_along_different_tensors) {
  constexpr auto by_v = vjp(y, x, v);
  constexpr auto by_w = vjp(y, x, w);
  constexpr auto along_v = jvp(y, x, v);
  constexpr auto along_w = jvp(y, x, w);
  const doubles ten{10, 10, 10}, hundred{100, 100, 100};
  doubles out(3), along(3);
  const auto p = compile(by_v, by_w, along_v, along_w);
  const auto [r, s] = p(x = three, v = ten, w = hundred, by_w = out, along_v = along);
  EXPECT_EQ(out, (doubles{200, 400, 600}));
  EXPECT_EQ(r(1), 40);
  EXPECT_EQ(along, (doubles{20, 40, 60}));
  EXPECT_EQ(s(1), 400);
}

// cotangent(norm<1>(x)) and cotangent(norm<2>(x)) are two inputs; the author's tensor of that name is a third.
TEST(names, inputs_that_gradients_add) {
  constexpr auto one = norm<1>(x);
  constexpr auto two = norm<2>(x);
  constexpr auto mine = tensor<"cotangent_norm_x", double, 0>;
  constexpr auto z = define<"z">(i) = x(i) * mine;
  const auto p = compile(vjp(one, x), vjp(two, x), z);
  const doubles a{3, 4};
  const auto [d1, d2, dz] = p(x = a, cotangent(one) = 10.0, cotangent(two) = 100.0, mine = 2.0);
  EXPECT_EQ(d1(1), 10);
  EXPECT_DOUBLE_EQ(d2(1), 80);
  EXPECT_EQ(dz(1), 8);
}

// A definition of the author's, an input, and an output in a view, each of the name that mean(x) has by itself.
TEST(names, automatic_names_give_way) {
  constexpr auto named = define<"mean_x">() = sum(i, x(i)) / 2_c + mean(x);
  EXPECT_EQ(static_cast<double>(compile(named)(x = three)), 5);
  constexpr auto input = tensor<"mean_x", double, 0>;
  constexpr auto z = define<"z">() = mean(x) + input;
  double out = 0;
  const auto p = compile(mean(x), z);
  EXPECT_EQ(static_cast<double>(p(x = three, input = 10.0, mean(x) = out)), 12);
  EXPECT_EQ(out, 2);
}

TEST(names, gradients_of_what_has_no_name) {
  constexpr auto one = norm<1>(x);
  constexpr auto two = norm<2>(x);
  const auto p = compile(grad(one, x), grad(two, x));
  doubles out(2);
  const auto first = p(x = doubles{3, 4}, grad(two, x) = out);
  EXPECT_EQ(first(0), 1);
  EXPECT_DOUBLE_EQ(out[0], 0.6);
}

// In text a prime tells an index from a tensor of its name.
TEST(names, an_index_and_a_tensor) {
  constexpr auto t = axis<"t">;
  constexpr auto twice = define<"t">() = x(0_c) * 2_c;
  constexpr auto z = define<"z">(t) = x(t) + twice;
  EXPECT_NE(std::string(compile(z).text()).find("z(t') = x(t') + t\n"), std::string::npos) << compile(z).text();
}

}  // namespace
// A step names all of its inputs; one that its outputs don't need is not read.
TEST(names, inputs_that_no_output_needs) {
  constexpr auto unneeded_i = axis<"i">;
  constexpr auto a = tensor<"a", double, 1>;
  constexpr auto b = tensor<"b", double, 1>;
  constexpr auto c = tensor<"c", double, 2>;
  auto step = compile(grad(sum(unneeded_i, a(unneeded_i) * 3_c), a));
  const auto slope = step(b = list<double>({1, 2}), a = list<double>({4, 5, 6}), c = array<double, 2>(2, 2));
  EXPECT_EQ(slope(2), 3);
}

}  // namespace sheaf::test
