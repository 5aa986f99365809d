// Tensors out of tensors, and pooling with other padding at each end: against plain loops and finite differences.
#include <support/familiar.hpp>

namespace {
using namespace sheaf;
using namespace sheaf::test;

constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto x = tensor<"x", double, 2>;
constexpr auto z = tensor<"z", double, 2>;
constexpr int A = 4, B = 6;
const array<double, 2> values = noise_array<double>(-2, 2, A, B);

TEST(familiar_joins, concat) {
  const array<double, 2> more = noise_array<double>(-2, 2, 3, B);
  constexpr auto y = concat(dim<0>, x, z, x);
  constexpr auto loss = sum(over(i, j), y(i, j) * y(i, j) * cast<double>(i));
  const auto [found, dx, dz] = both(y, grad(loss, x), grad(loss, z))(x = values, z = more);
  ASSERT_EQ(found.extent(0), 2 * A + 3);
  for (int r = 0; r < 2 * A + 3; ++r)
    for (int c = 0; c < B; ++c)
      EXPECT_EQ(found(r, c), r < A ? values(r, c) : r < A + 3 ? more(r - A, c) : values(r - A - 3, c));
  for (int c = 0; c < B; ++c) {
    EXPECT_NEAR(dx(1, c), 2 * values(1, c) * (1 + A + 4), 1e-12);
    EXPECT_NEAR(dz(2, c), 2 * more(2, c) * (A + 2), 1e-12);
  }
}
TEST(familiar_joins, concat_promotes_and_takes_empty_ones) {
  constexpr auto n = tensor<"n", std::int32_t, 1>;
  constexpr auto v = tensor<"v", float, 1>;
  const auto found = both(concat(dim<-1>, n, v))(n = array<std::int32_t, 1>(0), v = list<float>({0.5, 2}));
  static_assert(std::is_same_v<decltype(found), const array<float, 1>>);
  ASSERT_EQ(found.extent(0), 2);
  EXPECT_EQ(found(0), 0.5f);
}
TEST(familiar_joins, stack) {
  const array<double, 2> more = noise_array<double>(-2, 2, A, B);
  const auto [front, back] = both(stack(dim<0>, x, z), stack(dim<-1>, x, z))(x = values, z = more);
  for (int r = 0; r < A; ++r)
    for (int c = 0; c < B; ++c) {
      EXPECT_EQ(front(0, r, c), values(r, c));
      EXPECT_EQ(front(1, r, c), more(r, c));
      EXPECT_EQ(back(r, c, 0), values(r, c));
      EXPECT_EQ(back(r, c, 1), more(r, c));
    }
}

TEST(familiar_joins, reshape) {
  expect_each(checked(reshape<2, -1, 3>(x), x, values), {2, 4, 3}, [](auto at) {
    const int place = static_cast<int>((at[0] * 4 + at[1]) * 3 + at[2]);
    return values(place / B, place % B);
  });
  expect_each(checked(flatten(x), x, values), {A * B}, [](auto at) { return values(at[0] / B, at[0] % B); });
  expect_each(checked(unflatten<-1, 2>(x, dim<1>), x, values), {A, 3, 2},
              [](auto at) { return values(at[0], at[1] * 2 + at[2]); });
  constexpr auto cube = unflatten<-1, 2>(x, dim<1>);
  expect_each(checked(flatten(cube, dim<0>, dim<1>), x, values), {A * 3, 2},
              [](auto at) { return values(at[0] / 3, at[0] % 3 * 2 + at[1]); });
}
// Rows without gaps are read as they lie: nothing is divided, and no pass asks for each element whether it is inside.
TEST(familiar_joins, reshape_of_dense_rows_is_a_copy) {
  const auto dense = noise_array<double>(-1, 1, 40, 50);
  const auto step = compile(reshape<25, 80>(x));
  const std::string plan = step.explain(x = dense), code = step.ir(x = dense);
  EXPECT_NE(plan.find("linearise"), std::string::npos) << plan;
  EXPECT_EQ(plan.find("kernel check"), std::string::npos) << plan;
  EXPECT_EQ(code.find("remainder"), std::string::npos) << code;
  const auto y = step(x = dense);
  EXPECT_TRUE(std::equal(y.begin(), y.end(), dense.begin()));
  // With gaps between rows it divides.
  array<double, 2> wide = noise_array<double>(-1, 1, 40, 64);
  const auto apart = view_of(wide.data(), {40, 50}, {64, 1});
  EXPECT_EQ(std::string(step.explain(x = apart)).find("linearise"), std::string::npos);
  const auto z = step(x = apart);
  for (std::int64_t n = 0; n < z.size(); ++n) EXPECT_EQ(z.data()[n], wide(n / 50, n % 50));
}
TEST(familiar_joins, reshape_of_other_extents) {
  const auto step = compile(reshape<-1, 5>(x));
  try {
    (void)step(x = values);
    FAIL();
  } catch (const error& e) {
    EXPECT_STREQ(e.what(), "reshape of x: expected a multiple of 5 elements, found 24");
  }
}

// Of several rows for one place the last counts, and gets all of the gradient.
TEST(familiar_joins, overwriting) {
  constexpr auto ids = tensor<"ids", std::size_t, 1>;
  constexpr auto y = index_copy(x, ids, z, dim<0>);
  constexpr auto loss = sum(over(i, j), y(i, j) * cast<double>(1_c + i));
  const array<double, 2> more = noise_array<double>(-2, 2, 3, B);
  const auto [found, dx, dz] =
      both(y, grad(loss, x), grad(loss, z))(x = values, z = more, ids = list<std::size_t>({2, 0, 2}));
  for (int c = 0; c < B; ++c) {
    EXPECT_EQ(found(0, c), more(1, c));
    EXPECT_EQ(found(1, c), values(1, c));
    EXPECT_EQ(found(2, c), more(2, c));
    EXPECT_EQ(dx(0, c), 0);
    EXPECT_EQ(dx(3, c), 4);
    EXPECT_EQ(dz(0, c), 0);
    EXPECT_EQ(dz(1, c), 1);
    EXPECT_EQ(dz(2, c), 3);
  }
}
TEST(familiar_joins, overwriting_along_an_axis) {
  constexpr auto at = tensor<"at", std::int64_t, 2>;
  array<std::int64_t, 2> places(2, B);
  for (int c = 0; c < B; ++c) places(0, c) = c % A, places(1, c) = c < 3 ? c % A : (c + 1) % A;
  const array<double, 2> more = noise_array<double>(-2, 2, 2, B);
  const auto found = both(put_along_axis(x, at, z, dim<0>))(x = values, z = more, at = places);
  for (int r = 0; r < A; ++r)
    for (int c = 0; c < B; ++c)
      EXPECT_EQ(found(r, c), places(1, c) == r ? more(1, c) : places(0, c) == r ? more(0, c) : values(r, c));
}

TEST(familiar_joins, pooling_with_other_padding_at_each_end) {
  constexpr pool p{.kernel = {3}, .stride = {2}, .padding = {1}, .padding_end = {2}, .count_include_pad = false};
  const auto window = [](auto at, auto make) {
    double total = 0;
    int count = 0;
    for (std::int64_t c = at[1] * 2 - 1; c < at[1] * 2 + 2; ++c)
      if (c >= 0 && c < B) total = make(total, values(at[0], c), count++);
    return std::pair(total, count);
  };
  expect_each(checked(avg_pool1d<p>(x), x, values), {A, 4}, [&](auto at) {
    const auto [total, count] = window(at, [](double s, double v, int) { return s + v; });
    return total / count;
  });
  expect_each(both(max_pool1d<p>(x))(x = values), {A, 4}, [&](auto at) {
    return window(at, [](double s, double v, int n) { return n == 0 ? v : std::max(s, v); }).first;
  });
  const auto none = both(avg_pool1d<pool{.kernel = {3}, .stride = {1}, .padding_end = {1}}>(x))(x = values);
  ASSERT_EQ(none.extent(1), B - 1);
  EXPECT_NEAR(none(0, B - 2), (values(0, B - 2) + values(0, B - 1)) / 3, 1e-14);
}
}  // namespace
