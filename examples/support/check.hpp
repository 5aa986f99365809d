// What the numbered examples share: printing rows, and a check that ends the program.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>

namespace support {

// Ends the program, with the sentence, where the values are not the expected ones to a relative 1e-5.
template <class Array>
void expect(const char* what, const Array& found, std::initializer_list<double> expected) {
  std::int64_t i = 0;
  bool same = static_cast<std::int64_t>(expected.size()) == found.size();
  for (const double e : expected)
    if (const std::int64_t at = i++; same)
      same = std::fabs(static_cast<double>(found.data()[at]) - e) <= 1e-5 * std::fmax(1.0, std::fabs(e));
  if (same) return;
  std::fprintf(stderr, "%s: not as expected\n", what);
  std::exit(1);
}
inline void expect(const char* what, bool holds) {
  if (holds) return;
  std::fprintf(stderr, "%s: does not hold\n", what);
  std::exit(1);
}

// The array, its last dimension in one line each.
template <class Array>
void show(const char* title, const Array& values, const char* format = " %g") {
  std::printf("%s\n", title);
  const std::int64_t width = Array::rank() == 0 ? 1 : values.extent(Array::rank() == 0 ? 0 : Array::rank() - 1);
  for (std::int64_t i = 0; i < values.size(); ++i) {
    if (i % width == 0) std::printf(" ");
    std::printf(format, static_cast<double>(values.data()[i]));
    if (i % width == width - 1) std::printf("\n");
  }
}

// 0, 1, 2, ... in an array of these extents.
template <class Array>
Array counting(Array a, double step = 1) {
  for (std::int64_t i = 0; i < a.size(); ++i)
    a.data()[i] = static_cast<typename Array::value_type>(step * static_cast<double>(i));
  return a;
}
template <class Array>
Array filled(Array a, std::initializer_list<double> values) {
  std::int64_t i = 0;
  for (const double v : values) a.data()[i++] = static_cast<typename Array::value_type>(v);
  return a;
}

}  // namespace support
