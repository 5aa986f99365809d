// What programs of text give for small arrays, in words, by kernels as by the reference.
#pragma once
#include <gtest/gtest.h>

#include <sheaf/text.hpp>

namespace sheaf::test {

using arguments = std::vector<named_argument>;

inline std::string number(double v) {
  if (v != v) return "nan ";  // its sign means nothing
  char text[32];
  std::snprintf(text, sizeof text, "%g ", v);
  return text;
}

// The elements of all outputs, of f64, or the sentence.
inline std::string worth(const char* text, const arguments& with, jit::backend runs_on, const options& wanted = {}) {
  try {
    std::string all;
    for (const any_array& a : text_program(text, wanted, runs_on)(with)) {
      std::int64_t count = 1;
      for (int d = 0; d < a.rank(); ++d) count *= a.extent(d);
      for (std::int64_t k = 0; k < count; ++k) all += number(static_cast<const double*>(a.data())[k]);
    }
    return all;
  } catch (const error& e) {
    return e.what();
  }
}
inline void expect(const char* text, const arguments& with, const std::string& words) {
  EXPECT_EQ(worth(text, with, jit::backend::reference), words) << text;
  EXPECT_EQ(worth(text, with, jit::backend::chosen), words) << text;
}
// The sentences of kernels and of the reference name places differently.
inline void expect_outside(const char* text, const arguments& with) {
  for (const auto runs_on : {jit::backend::reference, jit::backend::chosen}) {
    const std::string words = worth(text, with, runs_on);
    EXPECT_NE(words.find("expected a subscript from"), std::string::npos) << text << '\n' << words;
  }
}

template <class T>
array<T, 1> filled(std::int64_t count, T value) {
  array<T, 1> a(count);
  a.fill(value);
  return a;
}
template <class T>
array<T, 2> filled(std::int64_t rows, std::int64_t columns, T value) {
  array<T, 2> a(rows, columns);
  a.fill(value);
  return a;
}

}  // namespace sheaf::test
