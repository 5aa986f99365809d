// Comparing printed graphs while compiling.
#pragma once
#include <sheaf/dsl/graph/flat.hpp>

namespace sheaf::inline v0_1 {
constexpr bool reads(const flat<char>& text, const char* expected) {
  int i = 0;
  while (i < text.size() && expected[i] != 0 && text[i] == expected[i]) ++i;
  return i == text.size() && expected[i] == 0;
}
}  // namespace sheaf::inline v0_1
