#include <sheaf/runtime/view.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <iterator>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <sheaf/runtime/array.hpp>
#include <sheaf/runtime/error.hpp>

namespace {

using sheaf::view;
using sheaf::view_of;

// As std::mdspan of C++23 looks from outside: strides in elements, a static rank.
struct columns_first {
  float* first;
  static constexpr std::size_t rank() { return 2; }
  std::size_t extent(std::size_t axis) const { return axis == 0 ? 3 : 2; }
  std::size_t stride(std::size_t axis) const { return axis == 0 ? 1 : 3; }
  float* data_handle() const { return first; }
};

struct any_rank {
  std::vector<long> sizes;
  float* first;
  std::size_t rank() const { return sizes.size(); }
  long extent(std::size_t axis) const { return sizes[axis]; }
  long stride(std::size_t) const { return 1; }
  float* data_handle() const { return first; }
};

// As mdspan's ancestors: data() where it has data_handle() now.
struct columns_first_before : columns_first {
  float* data() const { return first; }
  float* data_handle() const = delete;
};

// As an mdspan whose accessor scales what it reads, and one whose layout may have no strides.
struct scaled : columns_first {
  using accessor_type = int;
  using reference = float;
};
struct tiled : columns_first {
  bool strided;
  bool is_strided() const { return strided; }
};

// Strides in bytes, as Python's arrays have them; elements that nothing says to lie side by side; a matrix with
// iterators.
struct bytes_apart {
  float* data() const;
  std::size_t size() const;
  const long* shape() const;
  const long* strides() const;
};
struct unknown {
  float* data() const;
  std::size_t size() const;
  std::reverse_iterator<float*> begin() const;
};
struct flat_matrix {
  float* data() const;
  std::size_t size() const;
  float* begin() const;
  int rows() const;
  int cols() const;
};

template <class From, class To>
constexpr bool converts = std::is_convertible_v<From, To>;

static_assert(converts<std::vector<float>&, view<float, 1>>);
static_assert(converts<std::vector<float>&, view<const float, 1>>);
static_assert(converts<const std::vector<float>&, view<const float, 1>>);
static_assert(!converts<const std::vector<float>&, view<float, 1>>);
static_assert(!converts<std::vector<float>&, view<double, 1>>);
static_assert(!converts<std::vector<float>&, view<float, 2>>);
static_assert(!converts<std::vector<bool>&, view<bool, 1>>);
static_assert(converts<std::span<const float>, view<const float, 1>>);
static_assert(!converts<std::span<const float>, view<float, 1>>);
static_assert(converts<std::array<int, 4>&, view<std::int32_t, 1>>);
static_assert(converts<float (&)[4], view<float, 1>> && converts<const float (&)[4], view<const float, 1>>);
static_assert(!converts<const float (&)[4], view<float, 1>>);
static_assert(converts<float (&)[4][2], view<float, 2>> && !converts<float (&)[4][2], view<float, 1>>);
static_assert(converts<view<float, 2>, view<const float, 2>> && !converts<view<const float, 2>, view<float, 2>>);
static_assert(converts<columns_first, view<const float, 2>> && !converts<columns_first, view<float, 3>>);
static_assert(converts<any_rank, view<float, 2>>);
static_assert(converts<columns_first_before, view<float, 2>> && !converts<scaled, view<const float, 2>>);
static_assert(!converts<bytes_apart, view<float, 1>> && !converts<bytes_apart, view<float, 2>>);
static_assert(!converts<unknown, view<float, 1>> && !converts<flat_matrix, view<float, 1>>);
static_assert(converts<float&, view<float, 0>> && converts<float, view<const float, 0>>);
static_assert(!converts<const float&, view<float, 0>> && !converts<float, view<float, 0>>);
static_assert(!converts<double, view<const float, 0>>);
static_assert(converts<sheaf::array<float, 2>&, view<float, 2>> && converts<sheaf::array<float, 0>&, view<float, 0>>);
static_assert(converts<const sheaf::array<float, 2>&, view<const float, 2>>);
static_assert(!converts<const sheaf::array<float, 2>&, view<float, 2>>);
static_assert(!converts<sheaf::array<float, 1>&, view<float, 2>>);
static_assert(std::is_trivially_copyable_v<view<float, 3>>);

TEST(view, takes_containers_as_rank_one) {
  std::vector<float> v{1, 2, 3};
  const view<float, 1> x = v;
  EXPECT_EQ(x.data, v.data());
  EXPECT_EQ(x.extent(0), 3);
  EXPECT_EQ(x.stride(0), 1);
  x(1) = 7;
  EXPECT_EQ(v[1], 7);
  const view<const float, 1> empty = std::span<const float>();
  EXPECT_EQ(empty.size(), 0);
}

TEST(view, takes_nested_c_arrays_row_major) {
  int table[3][2] = {{0, 1}, {2, 3}, {4, 5}};
  const view<const std::int32_t, 2> x = table;
  EXPECT_EQ(x.extent(0), 3);
  EXPECT_EQ(x.stride(0), 2);
  EXPECT_EQ(x(2, 1), 5);
}

TEST(view, keeps_the_strides_of_an_mdspan) {
  float numbers[6] = {0, 1, 2, 3, 4, 5};
  const view<float, 2> x = columns_first{numbers};
  EXPECT_EQ(x(2, 1), 5);
  EXPECT_EQ(x(0, 1), 3);
}

TEST(view, refuses_another_rank_at_run_time) {
  float number = 1;
  EXPECT_EQ((view<float, 2>(any_rank{{3, 4}, &number}).extent(1)), 4);
  try {
    view<float, 2> x = any_rank{{3, 4, 5}, &number};
    FAIL() << x.size();
  } catch (const sheaf::error& e) {
    EXPECT_EQ(e.code(), sheaf::code::rank_mismatch);
    EXPECT_STREQ(e.what(), "conversion to a view: expected rank 2, found rank 3");
  }
}

TEST(view, refuses_a_layout_without_strides) {
  float numbers[6] = {0, 1, 2, 3, 4, 5};
  EXPECT_EQ((view<float, 2>(tiled{{numbers}, true})(2, 1)), 5);
  try {
    view<float, 2> x = tiled{{numbers}, false};
    FAIL() << x.size();
  } catch (const sheaf::error& e) {
    EXPECT_STREQ(e.what(),
                 "conversion to a view: expected a layout with strides, found an mdspan whose layout has none");
  }
}

TEST(view, of_a_pointer_is_row_major) {
  std::vector<double> v(24);
  const auto x = view_of(v.data(), {2, 3, 4});
  static_assert(std::is_same_v<decltype(x), const view<double, 3>>);
  EXPECT_EQ(x.stride(0), 12);
  EXPECT_EQ(x.stride(1), 4);
  EXPECT_EQ(&x(1, 2, 3), &v[23]);
  const auto y = view_of(v.data(), v.size() / 3, 3);
  EXPECT_EQ(y.extent(0), 8);
  const auto z = view_of(v.data(), {4, 6}, {1, 4});
  EXPECT_EQ(&z(3, 5), &v[23]);
}

TEST(view, transposes_slices_and_strides_without_copying) {
  int numbers[12];
  for (int i = 0; i < 12; ++i) numbers[i] = i;
  const auto x = view_of(numbers, {3, 4});
  EXPECT_EQ(x.transposed()(3, 2), 11);
  EXPECT_EQ(x.transposed().extent(0), 4);
  const auto middle = x.sliced(1, 1, 3);
  EXPECT_EQ(middle.extent(1), 2);
  EXPECT_EQ(middle(2, 0), 9);
  const auto odd = x.strided(1, 3);
  EXPECT_EQ(odd.extent(1), 2);
  EXPECT_EQ(odd(1, 1), 7);
  const auto backwards = x.strided(0, -2);
  EXPECT_EQ(backwards.extent(0), 2);
  EXPECT_EQ(backwards(0, 0), 8);
  EXPECT_EQ(backwards(1, 3), 3);
  EXPECT_EQ(x.sliced(0, 3, 3).size(), 0);
}

TEST(view, refuses_ranges_outside_an_axis) {
  float numbers[12] = {};
  const auto x = view_of(numbers, {3, 4});
  EXPECT_THROW(x.sliced(0, 0, 4), sheaf::error);
  EXPECT_THROW(x.sliced(0, -1, 2), sheaf::error);
  EXPECT_THROW(x.sliced(0, 2, 1), sheaf::error);
  EXPECT_THROW(x.sliced(2, 0, 0), sheaf::error);
  EXPECT_THROW(x.strided(1, 0), sheaf::error);
}

TEST(view, of_a_number_has_rank_zero) {
  float rate = 0.5f;
  const view<const float, 0> x = rate;
  rate = 2;
  EXPECT_EQ(x(), 2);
  EXPECT_EQ(x.size(), 1);
}

TEST(view, erases_its_types) {
  const float numbers[3][2] = {};
  const view<const float, 2> x = numbers;
  const sheaf::tensor_ref erased = x.erased();
  EXPECT_EQ(erased.data, numbers);
  EXPECT_EQ(erased.type, sheaf::element::f32);
  EXPECT_EQ(erased.rank, 2);
  EXPECT_EQ(erased.extents[0], 3);
  EXPECT_EQ(erased.strides, x.strides);
}

}  // namespace
