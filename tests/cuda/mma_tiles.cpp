// Tiles of products of halves, which warps multiply: extents about the ends of tiles and of blocks of the walk, either
// operand as it lies in memory, functions, batches and gradients. Sums of small integers are exact in any order, so
// there each element must be right.
#include <gtest/gtest.h>

#include <cmath>

#include <coverage/by_name.hpp>
#include <coverage/instead.hpp>
#include <sheaf/dsl/graph/pack.hpp>
#include <sheaf/jit/numerics/accuracy.hpp>
#include <sheaf/jit/pipeline.hpp>

#include "machine.hpp"

namespace sheaf::test::mma_tiles_tests {
namespace {

constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto k = axis<"k">;
constexpr auto b = axis<"b">;
constexpr auto h = tensor<"h", float16, 2>;
constexpr auto f = tensor<"f", float16, 2>;
constexpr auto p = tensor<"p", bfloat16, 2>;
constexpr auto q = tensor<"q", bfloat16, 2>;
constexpr auto x = tensor<"x", float, 2>;
constexpr auto y = tensor<"y", float, 2>;
constexpr auto s = tensor<"s", float, 1>;
constexpr auto w = tensor<"w", bfloat16, 1>;
constexpr auto ids = tensor<"ids", std::int64_t, 1>;
constexpr auto h3 = tensor<"h3", bfloat16, 3>;
constexpr auto f3 = tensor<"f3", bfloat16, 3>;

using shape = std::vector<std::int64_t>;

template <class Y>
std::string plan_of(Y, const std::vector<shape>& extents, bool strict = false, bool force = true,
                    bool warpgroups = false) {
  constexpr auto words = detail::packed<Y>::words;
  plan::call_facts call;
  for (const auto& e : extents) call.inputs.push_back({plan::amounts(e), true});
  call.gpu = true;
  call.force_for_tests = force;
  call.warpgroups = warpgroups;
  if (strict) call.overrides.determinism = determinism::strict;
  return plan_program(unpack(words.words), call, "program").text;
}
template <class Y>
bool is_multiplied(Y y, const std::vector<shape>& extents, bool strict = false, bool force = true) {
  return plan_of(y, extents, strict, force).find("multiplied by tensor cores") != std::string::npos;
}

values small(int seed, shape extents, element type) {
  values made = floats(static_cast<std::uint64_t>(seed), std::move(extents), -5, 5);
  for (double& each : made.numbers) each = std::trunc(each);
  return rounded(made, type);
}
values fractions(int seed, shape extents, element type) {
  return rounded(floats(static_cast<std::uint64_t>(seed), std::move(extents), -1, 1), type);
}

// On a device where warps multiply, and on one where four do at once.
template <class F>
void on_both(F run) {
  for (const bool warpgroups : {false, true}) {
    SCOPED_TRACE(warpgroups ? "by warpgroups" : "by warps");
    emulated_machine::only().warpgroups = warpgroups;
    run();
  }
  emulated_machine::only().warpgroups = false;
}

// A test is run twice: once without kernels, see main.cpp.
void expect_exact_here(const std::vector<std::int32_t>& words, const table& data) {
  const values found = by_name(words, jit::backend::chosen)(data)[0];
  const values expected = by_name(words, jit::backend::reference)(data)[0];
  ASSERT_EQ(found.extents, expected.extents);
  for (std::size_t n = 0; n < found.numbers.size(); ++n)
    ASSERT_EQ(found.numbers[n], expected.numbers[n]) << "element " << n << " of " << expected.numbers.size();
}

void expect_exact(const std::vector<std::int32_t>& words, const table& data) {
  on_both([&] { expect_exact_here(words, data); });
}

constexpr auto wide = sum(k, cast<float>(h(i, k)) * cast<float>(f(k, j)));
constexpr auto wide_of_bf16 = sum(k, cast<float>(p(i, k)) * cast<float>(q(k, j)));

// The letters of the name decide whether what is for much data is done for any, see machine.cpp.
TEST(mma_tiles, products) {
  constexpr auto c = define<"c">(i, j) = wide;
  constexpr auto d = define<"c">(i, j) = wide_of_bf16;
  EXPECT_TRUE(is_multiplied(c, {{20, 20}, {20, 20}})) << plan_of(c, {{20, 20}, {20, 20}});
  EXPECT_TRUE(is_multiplied(d, {{20, 20}, {20, 20}}));
  for (const auto& [rows, terms, columns] : std::vector<std::array<std::int64_t, 3>>{
           {1, 1, 1}, {64, 32, 64}, {65, 17, 63}, {128, 64, 128}, {130, 25, 129}, {257, 72, 131}, {33, 0, 70},
           {5, 100, 300}}) {
    expect_exact(words_of(c), {{"h", small(1, {rows, terms}, element::f16)},
                               {"f", small(2, {terms, columns}, element::f16)}});
    expect_exact(words_of(d), {{"p", small(1, {rows, terms}, element::bf16)},
                               {"q", small(2, {terms, columns}, element::bf16)}});
  }
}
TEST(mma_tiles, operands_as_they_lie) {
  const auto check = [](auto c) {
    EXPECT_TRUE(is_multiplied(c, {{70, 130}, {70, 130}}));
    expect_exact(words_of(c), {{"h", small(1, {72, 136}, element::f16)}, {"f", small(2, {72, 136}, element::f16)}});
    expect_exact(words_of(c), {{"h", small(1, {67, 133}, element::f16)}, {"f", small(2, {67, 133}, element::f16)}});
  };
  check(define<"c">(i, j) = sum(k, cast<float>(h(i, k)) * cast<float>(f(j, k))));
  check(define<"c">(i, j) = sum(k, cast<float>(h(k, i)) * cast<float>(f(k, j))));
  check(define<"c">(i, j) = sum(k, cast<float>(f(k, j)) * cast<float>(h(k, i))));
  check(define<"c">(i, j) = sum(k, cast<float>(h(k, i)) * cast<float>(h(k, j))));
}
// Each result is as near as the plan says: half a unit of its own type beside the sum's.
TEST(mma_tiles, sums_are_of_f32) {
  constexpr auto c = define<"c">(i, j) = sum(k, h(i, k) * f(k, j));
  constexpr std::int64_t rows = 70, terms = 200, columns = 66;
  const values a = fractions(1, {rows, terms}, element::f16), e = fractions(2, {terms, columns}, element::f16);
  const values found = by_name(words_of(c), jit::backend::chosen)(table{{"h", a}, {"f", e}})[0];
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t n = 0; n < columns; ++n) {
      double exact = 0, magnitude = 0;
      for (std::int64_t t = 0; t < terms; ++t) {
        const double product = a.numbers[static_cast<std::size_t>(r * terms + t)] *
                               e.numbers[static_cast<std::size_t>(t * columns + n)];
        exact += product, magnitude += std::abs(product);
      }
      const double allowed = numerics::half_ulp(element::f16) * std::abs(exact) +
                             terms * numerics::mma_roundings * numerics::half_ulp(element::f32) * magnitude;
      ASSERT_NEAR(found.numbers[static_cast<std::size_t>(r * columns + n)], exact, allowed) << r << ", " << n;
    }
}
TEST(mma_tiles, functions_before_and_after) {
  const table data = {{"p", fractions(1, {70, 35}, element::bf16)}, {"q", fractions(2, {35, 90}, element::bf16)},
                      {"x", floats(3, {70, 35}, -1, 1)},            {"y", floats(4, {35, 90}, -1, 1)},
                      {"s", floats(5, {70}, 0.5, 1)}};
  const std::vector<shape> of_both = {{70, 35}, {35, 90}};
  constexpr auto after = define<"c">(i, j) = tanh(sum(k, cast<float>(p(i, k)) * cast<float>(q(k, j))));
  constexpr auto before =
      define<"c">(i, j) = sum(k, cast<bfloat16>(exp(x(i, k))) * cast<bfloat16>(y(k, j)));
  constexpr auto chosen = define<"c">(i, j) = sum(k, maximum(p(i, k), 0_c) * abs(q(k, j)));
  constexpr auto scaled = define<"c">(i, j) = s(i) * cast<float>(sum(k, p(i, k) * q(k, j)));
  EXPECT_TRUE(is_multiplied(after, of_both));
  EXPECT_TRUE(is_multiplied(before, of_both));
  EXPECT_TRUE(is_multiplied(chosen, of_both)) << plan_of(chosen, of_both);
  EXPECT_TRUE(is_multiplied(scaled, {{70}, {70, 35}, {35, 90}})) << plan_of(scaled, {{70}, {70, 35}, {35, 90}});
  on_both([&] {
    check_backends(value_of("after", after), data);
    check_backends(value_of("before", before), data);
    check_backends(value_of("chosen", chosen), data);
    check_backends(value_of("scaled", scaled), data);
  });
}
TEST(mma_tiles, gathered_rows) {
  std::vector<double> names;
  for (int r = 0; r < 75; ++r) names.push_back(r * 7919 % 20);
  constexpr auto c = define<"c">(i, j) = sum(k, cast<float>(h(ids(i), k)) * cast<float>(f(k, j)));
  expect_exact(words_of(c), {{"h", small(1, {20, 40}, element::f16)}, {"f", small(2, {40, 72}, element::f16)},
                             {"ids", integers({75}, names)}});
  constexpr auto d = define<"c">(i, j) = sum(k, cast<float>(h(k, i)) * cast<float>(f(ids(k), j)));
  expect_exact(words_of(d), {{"h", small(1, {75, 40}, element::f16)}, {"f", small(2, {20, 72}, element::f16)},
                             {"ids", integers({75}, names)}});
}
// Of programs of several outputs one in two is planned as for much data: either name.
template <class C, class D, class X>
void check_gradient(C c, D d, X x, const table& data) {
  on_both([&] {
    check_backends(first_order("c", c, x), data);
    check_backends(first_order("cc", d, x), data);
  });
}
TEST(mma_tiles, batches_and_gradients) {
  constexpr auto c = define<"c">(b, i, j) = sum(k, h3(b, i, k) * f3(b, k, j));
  constexpr auto cc = define<"cc">(b, i, j) = sum(k, h3(b, i, k) * f3(b, k, j));
  EXPECT_TRUE(is_multiplied(c, {{3, 20, 20}, {3, 20, 20}}));
  EXPECT_TRUE(is_multiplied(vjp(c, h3), {{3, 20, 20}, {3, 20, 20}, {3, 20, 20}}));
  EXPECT_TRUE(is_multiplied(vjp(c, f3), {{3, 20, 20}, {3, 20, 20}, {3, 20, 20}}));
  const table data = {{"h3", small(1, {3, 66, 48}, element::bf16)}, {"f3", small(2, {3, 48, 70}, element::bf16)}};
  check_gradient(c, cc, h3, data);
  check_gradient(c, cc, f3, data);
  constexpr auto d = define<"c">(i, j) = sum(k, h(i, k) * f(k, j));
  constexpr auto dd = define<"cc">(i, j) = sum(k, h(i, k) * f(k, j));
  const table two = {{"h", small(1, {70, 40}, element::f16)}, {"f", small(2, {40, 90}, element::f16)}};
  check_gradient(d, dd, h, two);
  check_gradient(d, dd, f, two);
}

// Where both factors are copied as they lie.
TEST(mma_tiles, by_warpgroups) {
  const auto is_by_warpgroups = [](auto y, const std::vector<shape>& extents) {
    return plan_of(y, extents, false, false, true).find("four warps at once") != std::string::npos;
  };
  const std::vector<shape> square = {{4096, 4096}, {4096, 4096}};
  EXPECT_TRUE(is_by_warpgroups(define<"c">(i, j) = sum(k, h(i, k) * f(k, j)), square));
  EXPECT_TRUE(is_by_warpgroups(define<"c">(i, j) = sum(k, h(k, i) * f(j, k)), square));
  EXPECT_TRUE(is_by_warpgroups(define<"c">(i, j) = tanh(sum(k, p(k, i) * q(k, j))), {{600, 700}, {600, 700}}));
  EXPECT_FALSE(is_by_warpgroups(define<"c">(i, j) = sum(k, maximum(p(i, k), 0_c) * q(k, j)), square));
  EXPECT_FALSE(is_multiplied(define<"c">(i, j) = sum(k, x(i, k) * y(k, j)), square));
}

// The order of additions is the hardware's, so strict does without; other factors are not exact in halves.
TEST(mma_tiles, only_of_halves) {
  const std::vector<shape> square = {{512, 512}, {512, 512}};
  constexpr auto c = define<"c">(i, j) = sum(k, h(i, k) * f(k, j));
  EXPECT_TRUE(is_multiplied(c, {{1024, 1024}, {1024, 1024}}, false, false));
  EXPECT_FALSE(is_multiplied(c, square, true));
  // Few results of long sums: blocks of the sum are a batch.
  const std::vector<shape> narrow = {{256, 65536}, {65536, 256}};
  EXPECT_TRUE(is_multiplied(c, narrow, false, false)) << plan_of(c, narrow, false, false);
  EXPECT_FALSE(is_multiplied(define<"c">(i, j) = sum(k, x(i, k) * y(k, j)), square));
  EXPECT_FALSE(is_multiplied(define<"c">(i, j) = sum(k, h(i, k) * p(k, j)), square));
  EXPECT_FALSE(is_multiplied(define<"c">(i, j) = sum(k, (h(i, k) + 1_c) * f(k, j)), square));
  EXPECT_FALSE(is_multiplied(define<"c">(i, j) = max(k, h(i, k) * f(k, j)), square));
  EXPECT_FALSE(is_multiplied(define<"c">(i, j) = sum(k, h(i, k) * f(k, j) * w(k)), {{512, 512}, {512, 512}, {512}}));
}

}  // namespace
}  // namespace sheaf::test::mma_tiles_tests
