// Reductions of integers: sums and products are i64, extrema keep their type and start at its ends.
#include <algorithm>
#include <iterator>

#include <support/both.hpp>

namespace {
using namespace sheaf;
using namespace sheaf::test;

constexpr auto i = axis<"i">;

template <class T>
void check() {
  constexpr auto n = tensor<"n", T, 1>;
  const auto [product, least, most, total, chosen] =
      both(prod(i, n(i)), min(i, n(i)), max(i, n(i)), sum(i, n(i)),
           max<empty::value<7>>(i.where(n(i) > 100_c), n(i)))(n = list<T>({3, 5, 2, 5}));
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(product)>, array<std::int64_t, 0>>);
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(least)>, array<T, 0>>);
  EXPECT_EQ(product(), 150);
  EXPECT_EQ(least(), 2);
  EXPECT_EQ(most(), 5);
  EXPECT_EQ(total(), 15);
  EXPECT_EQ(chosen(), 7);
  const auto [p, low, high] = both(prod(i, n(i)), min(i, n(i)), max(i, n(i)))(n = array<T, 1>(0));
  EXPECT_EQ(p(), 1);
  EXPECT_EQ(low(), std::numeric_limits<T>::max());
  EXPECT_EQ(high(), std::numeric_limits<T>::lowest());
}
TEST(integers, reductions) {
  check<std::int8_t>();
  check<std::uint8_t>();
  check<std::int32_t>();
  check<std::int64_t>();
}

// The greatest number is greater than others, as what fills the end of a table of keys, and stays it.
TEST(integers, greatest_numbers) {
  constexpr auto k = axis<"k">;
  constexpr auto key = tensor<"key", std::int64_t, 1>;
  constexpr auto at = tensor<"at", std::int64_t, 1>;
  constexpr auto below = define<"below">(k) = count(i, key(i) < at(k));
  constexpr auto above = define<"above">(k) = count(i, key(i) > at(k) - 4_c);
  constexpr auto most = std::numeric_limits<std::int64_t>::max(), lowest = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t numbers[] = {lowest, -5, 0, 5, 10, 11, most, most};
  array<std::int64_t, 1> keys(8);
  std::copy(std::begin(numbers), std::end(numbers), keys.data());
  const auto [b, a] = both(below, above)(key = keys, at = list<std::int64_t>({0, 7, 10, 300}));
  EXPECT_EQ(b(0), 2);
  EXPECT_EQ(b(3), 6);
  EXPECT_EQ(a(0), 6);
  EXPECT_EQ(a(3), 2);
}

}  // namespace
