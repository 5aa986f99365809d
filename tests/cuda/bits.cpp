// From the same plan, sums of f32 and f64 have the bits that the CPU's kernels give: order of additions, fused products and the tree
// of lanes are the same.
#include <gtest/gtest.h>

#include <utility>

#include <coverage/by_name.hpp>
#include <coverage/instead.hpp>

#include "machine.hpp"

namespace {

using namespace sheaf;
using namespace sheaf::test;

constexpr auto t = axis<"t">;
constexpr auto f = axis<"f">;
template <class T>
constexpr auto x = tensor<"x", T, 2>;
template <class T>
constexpr auto w = tensor<"w", T, 2>;

std::vector<values> on_the_cpu(const std::vector<std::int32_t>& words, const table& data) {
  const auto instead = std::exchange(run_instead, nullptr);
  const std::vector<values> found = by_name(words, jit::backend::chosen)(data);
  run_instead = instead;
  return found;
}

void expect_bits(const std::vector<std::int32_t>& words, const table& data) {
  if (!__builtin_cpu_supports("fma"))
    GTEST_SKIP() << "this processor has no fused multiply-add, so its sums have other bits";
  emulated_machine& machine = emulated_machine::only();
  machine.gpu = false;
  const std::vector<values> found = by_name(words, jit::backend::chosen)(data);
  machine.gpu = true;
  if (!machine.built()) return;
  const std::vector<values> expected = on_the_cpu(words, data);
  for (std::size_t k = 0; k < found.size(); ++k) EXPECT_EQ(found[k].numbers, expected[k].numbers) << "output " << k;
}

table rows(std::int64_t n, std::int64_t m) {
  return {{"x", floats(1, {n, m}, -1, 1)}, {"w", floats(2, {n, m}, -1, 1)}};
}

template <class T>
void expect_bits_of_sums() {
  expect_bits(words_of(sum(x<T>, dim<1>)), rows(9, 700));
  expect_bits(words_of(sum(x<T>, dim<0>)), rows(300, 70));
  expect_bits(words_of(sum(x<T>)), rows(300, 301));
  expect_bits(words_of(define<"dot">(t) = sum(f, x<T>(t, f) * w<T>(t, f))), rows(7, 333));
  expect_bits(words_of(cumsum(x<T>, dim<1>)), rows(5, 500));
  expect_bits(words_of(var(x<T>, dim<1>)), rows(6, 300));
}

TEST(bits, of_f32_are_those_of_the_cpu) { expect_bits_of_sums<float>(); }
TEST(bits, of_f64_are_those_of_the_cpu) { expect_bits_of_sums<double>(); }

}  // namespace
