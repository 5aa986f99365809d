// What data chooses from when a call runs, such as folds of keys that ascend, are sorted, or are neither: by kernels as
// by the reference, whichever it is.
#include "answers.hpp"

namespace sheaf::test::alternatives_tests {
namespace {

// Folds of rows that are stored for other folds over the same rows are not put into these: there are several of each.
TEST(alternatives, folds_of_rows_that_are_folded_again) {
  constexpr std::int64_t keys = 21, below = 20, rows = 3;
  array<std::int64_t, 1> off(rows), id(keys);
  array<double, 2> w(below, 2), x(rows, 2), e(rows, 2);
  for (std::int64_t k = 0; k < below; ++k)
    for (std::int64_t c = 0; c < 2; ++c) w(k, c) = static_cast<double>(3 * k + c);
  for (std::int64_t k = 0; k < rows; ++k) {
    off(k) = 7 * k + 1;
    for (std::int64_t c = 0; c < 2; ++c) x(k, c) = static_cast<double>(k + c), e(k, c) = static_cast<double>(1 + k * c);
  }
  const std::string text =
      "input off: i64[?]\ninput id: i64[?]\ninput w: f64[?, ?]\ninput x: f64[?, ?]\ninput e: f64[?, ?]\n"
      "d(k.in(0, extent(off, 0) - 1), u.in(0, 8)) = x(k, 1) - sum(f.where(off(k) <= id(f) && id(f) < off(k + 1)), "
      "maximum(w(id(f), 0), cast<f64>(f)))\n"
      "loss = sum(over(k.in(0, extent(off, 0) - 1), u), d(k, u) * e(k, 0) * e(k, 1))\n"
      "output d, loss, grad(loss, e)\n";
  for (const bool ascend : {true, false}) {
    for (std::int64_t f = 0; f < keys; ++f) id(f) = ascend ? f * (below - 1) / (keys - 1) : f * 7 % below;
    const arguments with{{"off", off}, {"id", id}, {"w", w}, {"x", x}, {"e", e}};
    const std::string words = worth(text.c_str(), with, jit::backend::reference);
    for (const shape_policy shapes : {shape_policy::automatic, shape_policy::classes, shape_policy::exact})
      EXPECT_EQ(worth(text.c_str(), with, jit::backend::chosen, {.shapes = shapes}), words) << ascend;
  }
}

}  // namespace
}  // namespace sheaf::test::alternatives_tests
