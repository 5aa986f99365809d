// What tests of other libraries' containers share: one program each for vectors and matrices.
#pragma once
#include <gtest/gtest.h>

#include <initializer_list>
#include <type_traits>

#include <sheaf/sheaf.hpp>

namespace sheaf::test {

inline constexpr auto i = axis<"i">;
inline constexpr auto j = axis<"j">;
inline constexpr auto v = tensor<"v", float, 1>;
inline constexpr auto w = tensor<"w", float, 2>;
inline constexpr auto y = define<"y">(i) = v(i) + 100_c;
inline constexpr auto z = define<"z">(i, j) = w(i, j) + 100_c;

inline const auto plus_hundred = compile(y);
inline const auto matrix_plus_hundred = compile(z);

template <class Source, int Rank>
inline constexpr bool is_input = std::is_convertible_v<Source, view<const float, Rank>>;
template <class Source, int Rank>
inline constexpr bool is_output = std::is_convertible_v<Source, view<float, Rank>>;

template <class Source>
void expect_vector(const Source& source, std::initializer_list<float> expected) {
  const array<float, 1> found = plus_hundred(v = source);
  ASSERT_EQ(found.extent(0), static_cast<std::int64_t>(expected.size()));
  for (std::int64_t k = 0; k < found.extent(0); ++k) EXPECT_EQ(found(k), expected.begin()[k] + 100) << "element " << k;
}

// Against the source's own element access.
template <class Source>
void expect_matrix(const Source& source, std::int64_t rows, std::int64_t columns) {
  const array<float, 2> found = matrix_plus_hundred(w = source);
  ASSERT_TRUE(found.extent(0) == rows && found.extent(1) == columns) << found.extent(0) << " x " << found.extent(1);
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < columns; ++c) EXPECT_EQ(found(r, c), source(r, c) + 100) << r << ", " << c;
}
template <class Source>
void expect_matrix(const Source& source) {
  if constexpr (requires { source.rows(); })
    expect_matrix(source, source.rows(), source.cols());
  else
    expect_matrix(source, static_cast<std::int64_t>(source.shape()[0]), static_cast<std::int64_t>(source.shape()[1]));
}

}  // namespace sheaf::test
