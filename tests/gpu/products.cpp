// Products of matrices on the device, of shapes about the ends of tiles and of blocks of the walk, either operand as it
// lies in memory. Sums of small integers are exact in any order, so each element must be right, whatever multiplies.
#include <gtest/gtest.h>

#include <bit>
#include <cstdlib>

#include <sheaf/sheaf.hpp>

#include "machine.hpp"

namespace {

using namespace sheaf;

constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto k = axis<"k">;

struct extents_of_product {
  std::int64_t rows, columns, terms;
};

int number_at(std::int64_t row, std::int64_t column, int seed) {
  return static_cast<int>((row * 7919 + column * 104729 + row * column + seed) % 11) - 5;
}
// Of integers up to 5.
template <class T>
T element_for(int n) {
  constexpr std::uint16_t halves[] = {0, 0x3c00, 0x4000, 0x4200, 0x4400, 0x4500};
  const auto sign = static_cast<std::uint16_t>(n < 0 ? 0x8000 : 0);
  if constexpr (std::is_same_v<T, float16>)
    return {static_cast<std::uint16_t>(halves[std::abs(n)] | sign)};
  else if constexpr (std::is_same_v<T, bfloat16>)
    return {static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(static_cast<float>(n)) >> 16)};
  else
    return static_cast<T>(n);
}
template <class T>
array<T, 2> numbers(std::int64_t rows, std::int64_t columns, bool turned, int seed) {
  array<T, 2> made(uninitialized, turned ? columns : rows, turned ? rows : columns);
  T* to = made.data();
  for (std::int64_t r = 0; r < made.extent(0); ++r)
    for (std::int64_t c = 0; c < made.extent(1); ++c)
      *to++ = element_for<T>(turned ? number_at(c, r, seed) : number_at(r, c, seed));
  return made;
}

// a(i, k) or a(k, i), b(k, j) or b(j, k).
template <class T, bool TurnedA, bool TurnedB>
void check(const extents_of_product& e) {
  constexpr auto a = tensor<"a", T, 2>;
  constexpr auto b = tensor<"b", T, 2>;
  constexpr auto term = [=] {
    if constexpr (TurnedA && TurnedB)
      return cast<float>(a(k, i)) * cast<float>(b(j, k));
    else if constexpr (TurnedA)
      return cast<float>(a(k, i)) * cast<float>(b(k, j));
    else if constexpr (TurnedB)
      return cast<float>(a(i, k)) * cast<float>(b(j, k));
    else
      return cast<float>(a(i, k)) * cast<float>(b(k, j));
  }();
  constexpr auto c = define<"c">(i, j) = sum(k, term);
  SCOPED_TRACE(std::to_string(e.rows) + " x " + std::to_string(e.columns) + " x " + std::to_string(e.terms) +
               (TurnedA ? ", rows turned" : "") + (TurnedB ? "" : ", columns turned"));
  const stream s(on(gpu));
  const auto left = numbers<T>(e.rows, e.terms, TurnedA, 1), right = numbers<T>(e.terms, e.columns, TurnedB, 2);
  const auto product = compile(c, on(gpu));
  const auto found = to_host(product(a = to_device(left, s), b = to_device(right, s), on(s)), s);
  std::int64_t wrong = 0;
  const std::int64_t apart = e.rows > 600 ? 13 : 1;  // rows that are looked at
  std::vector<int> expected(static_cast<std::size_t>(e.columns)), factors;
  for (std::int64_t t = 0; t < e.terms; ++t)
    for (std::int64_t n = 0; n < e.columns; ++n) factors.push_back(number_at(t, n, 2));
  for (std::int64_t r = 0; r < e.rows; r += apart) {
    std::fill(expected.begin(), expected.end(), 0);
    for (std::int64_t t = 0; t < e.terms; ++t) {
      const int one = number_at(r, t, 1), *const row = factors.data() + t * e.columns;
      for (std::int64_t n = 0; n < e.columns; ++n) expected[static_cast<std::size_t>(n)] += one * row[n];
    }
    for (std::int64_t n = 0; n < e.columns; ++n) {
      const float one = found.data()[r * e.columns + n];
      if (one == static_cast<float>(expected[static_cast<std::size_t>(n)])) continue;
      if (wrong++ == 0)
        ADD_FAILURE() << "row " << r << ", column " << n << ": " << one << " for "
                      << expected[static_cast<std::size_t>(n)];
    }
  }
  EXPECT_EQ(wrong, 0);
}

std::vector<extents_of_product> shapes() {
  if (!test::on_real_gpu()) return {{512, 512, 72}};
  return {{512, 520, 64}, {523, 517, 203}, {1500, 1536, 65}, {2048, 2304, 520}, {2111, 2250, 331}, {2056, 2056, 1}};
}

template <class T>
void check_all() {
  for (const extents_of_product& e : shapes()) {
    check<T, false, false>(e);
    check<T, false, true>(e);
    check<T, true, false>(e);
    check<T, true, true>(e);
  }
}

TEST(products, of_f32) { check_all<float>(); }
TEST(products, of_f16) { check_all<float16>(); }
TEST(products, of_bf16) { check_all<bfloat16>(); }

}  // namespace
