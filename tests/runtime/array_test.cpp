#include <sheaf/runtime/array.hpp>

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <sstream>
#include <type_traits>
#include <utility>
#include <vector>

#include <sheaf/runtime/error.hpp>
#include <sheaf/runtime/host.hpp>

namespace {

using sheaf::array;

static_assert(sizeof(array<bool, 1>::value_type) == 1);
static_assert(std::is_nothrow_move_constructible_v<array<float, 2>>);
static_assert(std::is_convertible_v<array<float, 0>, float> && !std::is_convertible_v<array<float, 1>, float>);

template <class T, int Rank>
bool aligned(const array<T, Rank>& a) {
  return reinterpret_cast<std::uintptr_t>(a.data()) % sheaf::runtime::array_alignment == 0;
}

TEST(array, is_row_major_aligned_and_zero) {
  array<float, 3> a(2, 3, 5);
  EXPECT_TRUE(aligned(a));
  EXPECT_EQ(a.size(), 30);
  EXPECT_EQ(a.stride(0), 15);
  EXPECT_EQ(&a(1, 2, 4), a.data() + 29);
  for (const float one : a) EXPECT_EQ(one, 0);
}

// Freed memory serves the next array of about the size, zero where that is asked for, and goes back at shutdown.
TEST(array, large_blocks_are_used_again) {
  for (const int size : {5 << 20, 40 << 10}) {
    const void* first = nullptr;
    {
      array<float, 1> a(sheaf::uninitialized, size);
      first = a.data();
      std::fill(a.begin(), a.end(), 1.0f);
    }
    {
      const array<float, 1> a(size - 1000);
      EXPECT_EQ(a.data(), first);
      EXPECT_EQ(std::count(a.begin(), a.end(), 0.0f), a.size());
      const array<float, 1> other(size);
      EXPECT_NE(other.data(), first);
    }
    sheaf::shutdown();
    const std::size_t pages = static_cast<std::size_t>(size) * sizeof(float) / 4096;
    std::vector<unsigned char> there(pages);
    EXPECT_NE(mincore(const_cast<void*>(first), pages * 4096, there.data()), 0) << "still mapped";
  }
}

// More than SHEAF_ARRAY_LIMIT is not kept: the oldest go first.
TEST(array, blocks_are_kept_up_to_a_limit) {
  const void* list[9] = {};
  {
    std::vector<array<float, 1>> many;
    for (auto& at : list) at = many.emplace_back(sheaf::uninitialized, 10 << 20).data();
  }
  array<float, 1> large(sheaf::uninitialized, 100 << 20);  // beyond the limit by itself
  std::vector<array<float, 1>> again;
  int same = 0;
  for (int k = 0; k < 9; ++k) {
    const void* at = again.emplace_back(sheaf::uninitialized, 10 << 20).data();
    same += std::find(std::begin(list), std::end(list), at) != std::end(list);
  }
  EXPECT_GE(same, 6);  // of 40 MB each
}

TEST(array, copies_elements_and_moves_the_block) {
  array<std::int32_t, 2> a(2, 2);
  a(1, 0) = 5;
  array<std::int32_t, 2> copy = a;
  a(1, 0) = 6;
  EXPECT_EQ(copy(1, 0), 5);
  const auto* block = copy.data();
  array<std::int32_t, 2> moved = std::move(copy);
  EXPECT_EQ(moved.data(), block);
  EXPECT_EQ(copy.size(), 0);
  EXPECT_EQ(copy.extent(0), 0);
  copy = moved;
  EXPECT_EQ(copy(1, 0), 5);
  moved = std::move(a);
  EXPECT_EQ(moved(1, 0), 6);
}

TEST(array, of_rank_zero_is_its_number) {
  array<float, 0> a(2.5f);
  const float number = a;
  EXPECT_EQ(number, 2.5f);
  EXPECT_EQ(a * 2, 5);
  EXPECT_EQ(a(), 2.5f);
  std::ostringstream out;
  out << a;
  EXPECT_EQ(out.str(), "2.5");
  EXPECT_EQ(float(array<float, 0>()), 0);
}

TEST(array, becomes_a_view) {
  array<double, 2> a(3, 4);
  const sheaf::view<double, 2> x = a;
  x(2, 1) = 9;
  EXPECT_EQ(a(2, 1), 9);
  EXPECT_EQ(x.stride(0), 4);
}

TEST(array, may_be_empty) {
  array<float, 2> none;
  array<float, 2> rows(0, 7);
  EXPECT_EQ(none.size(), 0);
  EXPECT_EQ(rows.extent(1), 7);
  EXPECT_EQ(rows.begin(), rows.end());
  const array<float, 2> copy = rows;
  EXPECT_EQ(copy.extent(1), 7);
}

TEST(array, large_blocks_are_zero_and_usable) {
  array<float, 1> a((std::int64_t{8} << 20) / 4 + 3);
  EXPECT_TRUE(aligned(a));
  EXPECT_EQ(a(a.size() - 1), 0);
  a.fill(1);
  EXPECT_EQ(array(a)(a.size() - 1), 1);
}

TEST(array, refuses_impossible_shapes) {
  EXPECT_THROW((array<float, 2>(3, -1)), sheaf::error);
  EXPECT_THROW((array<float, 3>(std::int64_t{1} << 40, std::int64_t{1} << 40, 8)), sheaf::error);
  EXPECT_EQ((array<float, 3>(std::int64_t{1} << 40, std::int64_t{1} << 40, 0).size()), 0);
  try {
    const array<float, 1> a(std::int64_t{1} << 58);
    FAIL() << a.size();
  } catch (const sheaf::error& e) {
    EXPECT_EQ(e.code(), sheaf::code::out_of_memory);
  }
}

}  // namespace
