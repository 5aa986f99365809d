// Values and gradients in f16 and bf16 are within one rounding of what f32 gives for the same numbers.
#include <support/both.hpp>

namespace {
using namespace sheaf;
using namespace sheaf::test;

constexpr auto i = axis<"i">;
constexpr auto k = axis<"k">;
constexpr auto t = axis<"t">;
constexpr auto pick = tensor<"pick", std::int64_t, 1>;

// One rounding to T, and one part in a thousand of it for the f32 sums.
template <class T, int Rank>
void expect_one_rounding(const array<T, Rank>& found, const array<float, Rank>& expected, const char* what) {
  for (std::int64_t e = 0; e < expected.size(); ++e) {
    const double wide = expected.data()[e], narrow = number_of(value_of<T>(1e-7));  // the spacing near 0
    const double bound = 1.001 * unit_of<T>() * std::abs(wide) + narrow + 1e-6;
    EXPECT_NEAR(number_of(found.data()[e]), wide, bound) << what << ", element " << e;
  }
}

template <class H, class Make, class... More>
void check(Make make, const char* what, const More&... more) {
  constexpr auto x = tensor<"x", H, 2>;
  constexpr auto f = tensor<"f", float, 2>;
  constexpr auto c = tensor<"c", H, 1>;
  constexpr auto d = tensor<"d", float, 1>;
  const array<H, 2> values = noise_array<H>(-1, 1, 4, 3000);
  const array<H, 1> cotangents = noise_array<H>(-1, 1, 4);
  array<float, 2> wide(4, 3000);
  array<float, 1> wide_cotangents(4);
  for (std::int64_t e = 0; e < wide.size(); ++e) wide.data()[e] = static_cast<float>(number_of(values.data()[e]));
  for (std::int64_t e = 0; e < 4; ++e) wide_cotangents(e) = static_cast<float>(number_of(cotangents(e)));
  constexpr auto narrow_y = Make{}(x);
  constexpr auto wide_y = Make{}(f);
  const auto [y, dx] = both(narrow_y, vjp(narrow_y, x, c)).rounds(2)(x = values, c = cotangents, more...);
  const auto [z, dz] = both(wide_y, vjp(wide_y, f, d)).rounds(1e4)(f = wide, d = wide_cotangents, more...);
  expect_one_rounding(y, z, what);
  expect_one_rounding(dx, dz, what);
  (void)make;
}

template <class H>
void check_all() {
  check<H>([](auto x) { return define<"y">(i) = mean(t, x(i, t)); }, "mean");
  check<H>([](auto x) { return define<"y">(i) = sum(t, x(i, t)); }, "sum");
  check<H>([](auto x) { return define<"y">(i) = sum(t, x(i, t) * x(i, t)); }, "sum of squares");
  check<H>([](auto x) { return define<"y">(i) = logsumexp(t, x(i, t)); }, "logsumexp");
  check<H>([](auto x) { return define<"y">(i) = max(t, x(i, t)); }, "max");
  check<H>([](auto x) { return define<"y">(i) = max<ties::first>(t, x(i, t)); }, "max, first");
  const std::vector<std::int64_t> ids(700, 2);  // 700 additions to one element
  check<H>([](auto x) { return define<"y">(i) = sum(k, x(i, pick(k))); }, "gather", pick = ids);
}

TEST(halves, f16) { check_all<float16>(); }
TEST(halves, bf16) { check_all<bfloat16>(); }

// More ties than f16 can count.
TEST(halves, many_ties) {
  constexpr auto h = tensor<"h", float16, 1>;
  array<float16, 1> ones(70000);
  for (float16& one : ones) one = to_float16(1);
  EXPECT_EQ(to_double(both(grad(max(t, h(t)) * 7_c, h))(h = ones)(5)), to_double(to_float16(1e-4)));
}

}  // namespace
