// A shared library that holds a Sheaf of its own. NAME: a or b.
#include <sheaf/sheaf.hpp>

#define JOIN_(x, y) x##y
#define JOIN(x, y) JOIN_(x, y)

namespace {
constexpr auto i = sheaf::axis<"i">;
constexpr auto v = sheaf::tensor<"v", float, 1>;
constexpr auto total = sheaf::define<"total">() = sum(i, v(i));
}  // namespace

// Three ones, as this library's Sheaf fills an array, summed.
float JOIN(filled_, NAME)() {
  sheaf::array<float, 1> ones(3);
  ones.fill(1);
  return sheaf::compile(total)(v = ones);
}

// Throws sheaf::error.
void JOIN(wrong_, NAME)() { sheaf::compile(total)(v = sheaf::view_of<const float>(nullptr, 3)); }
