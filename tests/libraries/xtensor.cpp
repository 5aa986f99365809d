// xtensor's containers and views as arguments: those with memory and strides are taken with them, the others refused.
#include <xtensor/xadapt.hpp>
#include <xtensor/xarray.hpp>
#include <xtensor/xbroadcast.hpp>
#include <xtensor/xdynamic_view.hpp>
#include <xtensor/xfixed.hpp>
#include <xtensor/xmanipulation.hpp>
#include <xtensor/xstrided_view.hpp>
#include <xtensor/xtensor.hpp>
#include <xtensor/xview.hpp>

#include <libraries/arguments.hpp>

namespace {
using namespace sheaf::test;

xt::xtensor<float, 2> counted() { return xt::arange<float>(0, 15).reshape({3, 5}); }

template <class F>
std::string said(F&& run) {
  try {
    run();
  } catch (const sheaf::error& e) {
    return e.what();
  }
  return "";
}

TEST(xtensor, vectors_with_strides) {
  auto t = counted();
  expect_vector(xt::view(t, xt::all(), 1), {1, 6, 11});
  expect_vector(xt::strided_view(t, {xt::all(), 1}), {1, 6, 11});
  expect_vector(xt::view(t, 1, xt::all()), {5, 6, 7, 8, 9});
  expect_vector(xt::view(t, 1, xt::range(4, 0, -2)), {9, 7});
  expect_vector(xt::row(t, 2), {10, 11, 12, 13, 14});
  expect_vector(xt::flip(xt::view(t, 1, xt::all()), 0), {9, 8, 7, 6, 5});
  expect_vector(xt::view(xt::view(t, xt::range(1, 3), xt::all()), xt::all(), 3), {8, 13});
  expect_vector(xt::xarray<float>{1, 2, 3}, {1, 2, 3});
}

TEST(xtensor, matrices_with_strides) {
  auto t = counted();
  expect_matrix(t);
  expect_matrix(xt::xarray<float>(t));
  expect_matrix(xt::xtensor<float, 2, xt::layout_type::column_major>(t));
  expect_matrix(xt::xtensor_fixed<float, xt::xshape<3, 5>>(t));
  expect_matrix(xt::transpose(t));
  expect_matrix(xt::flip(t, 1));
  expect_matrix(xt::view(t, xt::range(0, 3, 2), xt::range(4, 0, -2)));
  expect_matrix(xt::strided_view(t, {xt::newaxis(), 1, xt::all()}));
  expect_matrix(xt::xtensor<float, 2>(xt::ones<float>({3, 1})));  // whose last stride is 0
  expect_matrix(xt::adapt(t.data(), 15, xt::no_ownership(), std::array<std::size_t, 2>{5, 3}));
}

TEST(xtensor, columns_as_outputs) {
  xt::xtensor<float, 2> t = xt::zeros<float>({3, 4});
  const float a[3] = {1, 2, 3};
  plus_hundred(v = a, y = xt::view(t, xt::all(), 1));
  plus_hundred(v = a, y = xt::flip(xt::view(t, 2, xt::range(1, 4)), 0));
  const float expected[3][4] = {{0, 101, 0, 0}, {0, 102, 0, 0}, {0, 103, 102, 101}};
  for (std::size_t r = 0; r < 3; ++r)
    for (std::size_t c = 0; c < 4; ++c) EXPECT_EQ(t(r, c), expected[r][c]) << r << ", " << c;
}

// Strides of the caller's: a row that serves for all is an input, and no output.
TEST(xtensor, elements_that_share_a_place) {
  std::vector<float> data = {1, 2, 3};
  auto repeated = xt::adapt(data, std::array<std::size_t, 2>{4, 3}, std::array<std::ptrdiff_t, 2>{0, 1});
  expect_matrix(repeated, 4, 3);
  const sheaf::array<float, 2> of(4, 3);
  EXPECT_EQ(said([&] { matrix_plus_hundred(w = of, z = repeated); }),
            "output z: expected a place for each element, found stride 0 in dimension 0");
  EXPECT_EQ(std::vector<float>(data.begin(), data.begin() + 3), (std::vector<float>{1, 2, 3}));
}

TEST(xtensor, ranks_known_at_run_time) {
  const xt::xarray<float> cube = xt::zeros<float>({2, 2, 2});
  EXPECT_EQ(said([&] { matrix_plus_hundred(w = cube); }), "conversion to a view: expected rank 2, found rank 3");
}

TEST(xtensor, what_is_refused) {
  auto t = counted();
  const auto fixed = t;
  auto kept = xt::view(t, xt::keep(0, 2), xt::all());
  auto broadcast = xt::broadcast(t, {2, 3, 5});
  auto reshaped = xt::reshape_view(t, {5, 3});
  static_assert(!is_input<decltype(t)&, 1> && !is_input<decltype(t)&, 3>, "a matrix is no vector");
  static_assert(!is_input<decltype(t + t), 2> && !is_input<decltype(broadcast)&, 3>, "no memory of its own");
  static_assert(!is_input<decltype(kept)&, 2>, "rows that no stride describes");
  static_assert(!is_input<decltype(reshaped)&, 2> && !is_input<xt::xtensor<double, 2>&, 2>);
  static_assert(is_output<decltype(t)&, 2> && !is_output<const decltype(t)&, 2> && is_input<const decltype(t)&, 2>);
  static_assert(is_output<decltype(xt::view(t, xt::all(), 1)), 1>);
  static_assert(!is_output<decltype(xt::view(fixed, xt::all(), 1)), 1>);
}

}  // namespace
