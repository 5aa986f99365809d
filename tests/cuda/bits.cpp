// From the same plan, sums of f32 and f64 have the bits that the CPU's kernels give: order of additions, fused
// products and the tree of lanes are the same. Under determinism::strict the plan of a GPU is such a one.
#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include <coverage/by_name.hpp>
#include <coverage/instead.hpp>

#include "machine.hpp"

namespace sheaf::test::bits_tests {
namespace {

constexpr auto t = axis<"t">;
constexpr auto f = axis<"f">;
template <class T>
constexpr auto x = tensor<"x", T, 2>;
template <class T>
constexpr auto w = tensor<"w", T, 2>;

std::vector<values> on_the_cpu(const std::vector<std::int32_t>& words, const table& data, const options& how = {}) {
  const auto instead = std::exchange(run_instead, nullptr);
  const std::vector<values> found = by_name(words, jit::backend::chosen, how)(data);
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

// Numbers of f32 are exact in f64; means of nothing are NaN.
void expect_same_bits(const values& found, const values& expected, std::size_t output) {
  ASSERT_EQ(found.extents, expected.extents);
  for (std::size_t n = 0; n < found.numbers.size(); ++n) {
    const double a = found.numbers[n], b = expected.numbers[n];
    ASSERT_TRUE(a == b || (std::isnan(a) && std::isnan(b)))
        << "output " << output << ", element " << n << ": " << a << " and " << b;
  }
}

// cotangent: the extents of what is differentiated.
void expect_strict_bits(const std::vector<std::int32_t>& words, table data,
                        const std::vector<std::int64_t>& cotangent = {}) {
  if (!__builtin_cpu_supports("fma")) GTEST_SKIP() << "strict needs a fused multiply-add";
  for (const std::string& name : by_name(words, jit::backend::reference).inputs())
    if (name.rfind("cotangent_", 0) == 0) data[name] = floats(9, cotangent, -1, 1);
  emulated_machine& machine = emulated_machine::only();
  machine.strict = true;
  const std::vector<values> found = by_name(words, jit::backend::chosen)(data);
  machine.strict = false;
  if (!machine.built()) return;
  const options strict{.determinism = determinism::strict};
  const std::vector<values> expected = on_the_cpu(words, data, strict);
  for (std::size_t k = 0; k < found.size(); ++k) expect_same_bits(found[k], expected[k], k);
}

template <class T>
constexpr auto z = tensor<"z", T, 1>;
template <class T>
constexpr auto image = tensor<"image", T, 3>;
constexpr auto m = axis<"m">;
constexpr auto k = axis<"k">;
constexpr auto pick = tensor<"pick", std::int64_t, 2>;
constexpr auto ids = tensor<"ids", std::int64_t, 1>;
constexpr auto off = tensor<"off", std::int64_t, 1>;
constexpr auto cut = tensor<"cut", std::int64_t, 2>;
template <class T>
constexpr auto gathered = define<"gathered">(m, f) = mean(k, x<T>(pick(m, k), f));
template <class T>
constexpr auto pooled = define<"pooled">(m, f) = mean(t.in(cut(m, 0_c), cut(m, 1_c)), x<T>(t, f));
template <class T>
constexpr auto named = define<"named">(m) = z<T>(ids(m));
template <class T>
constexpr auto scaled = define<"scaled">(m, f) = x<T>(ids(m), f) / z<T>(ids(m));

values offsets_to(std::int64_t rows, std::int64_t count) {
  std::vector<double> list = {0};
  for (std::int64_t n = 1; n < count; ++n)
    list.push_back(std::min(static_cast<double>(rows), list.back() + static_cast<double>(n * n % 97)));
  list.push_back(static_cast<double>(rows));
  return integers({count + 1}, list);
}
values names(std::vector<std::int64_t> extents, std::int64_t rows) {
  std::vector<double> list;
  std::int64_t all = 1;
  for (const std::int64_t e : extents) all *= e;
  for (std::int64_t n = 0; n < all; ++n)
    list.push_back(static_cast<double>(n % 3 == 0 ? rows - 1 : (n * n * 7919 + 13 * n) % rows));
  return integers(std::move(extents), list);
}
values slices(std::int64_t count, std::int64_t rows, std::int64_t longest) {
  std::vector<double> list;
  for (std::int64_t n = 0; n < count; ++n) {
    const std::int64_t low = (n * 7919) % rows;
    list.push_back(static_cast<double>(low));
    list.push_back(static_cast<double>(std::min(rows, low + (n * n) % longest)));
  }
  return integers({count, 2}, list);
}

// Sizes at which the processor splits axes, lists updates, and has tables or a sweep for slices that overlap.
template <class T>
void expect_strict_bits_of_sums() {
  expect_strict_bits(words_of(sum(x<T>)), rows(700, 301));
  expect_strict_bits(words_of(sum(x<T>, dim<0>), sum(x<T>, dim<1>)), rows(900, 300));
  expect_strict_bits(words_of(sum(x<T>, dim<0>)), rows(20000, 12));
  expect_strict_bits(words_of(define<"dot">() = sum(over(t, f), x<T>(t, f) * w<T>(t, f))), rows(400, 333));
  expect_strict_bits(words_of(var(x<T>, dim<1>), var(x<T>, dim<0>)), rows(60, 9000));
  expect_strict_bits(words_of(var(x<T>, dim<0>)), rows(300, 1100));
  expect_strict_bits(words_of(cumsum(x<T>, dim<0>), cumsum(x<T>, dim<1>)), rows(300, 500));
  expect_strict_bits(words_of(layer_norm(x<T>), vjp(layer_norm(x<T>), x<T>)), rows(70, 1000), {70, 1000});
  const values few = floats(3, {30000}, -1, 1);
  expect_strict_bits(words_of(segment_sum(z<T>, offsets(off)), segment_mean(z<T>, offsets(off)),
                              vjp(segment_mean(z<T>, offsets(off)), z<T>)),
                     {{"z", few}, {"off", offsets_to(30000, 500)}}, {500});
}
template <class T>
void expect_strict_bits_of_names() {
  table data = rows(5000, 60);
  data["pick"] = names({300, 9}, 5000);
  expect_strict_bits(words_of(gathered<T>, vjp(gathered<T>, x<T>)), data, {300, 60});
  data = rows(90, 7);
  data["pick"] = names({3000, 3}, 90);
  expect_strict_bits(words_of(gathered<T>, vjp(gathered<T>, x<T>)), data, {3000, 7});
  data = rows(4200, 64);
  data["cut"] = slices(1000, 4200, 220);
  expect_strict_bits(words_of(pooled<T>, vjp(pooled<T>, x<T>)), data, {1000, 64});
  data = rows(300, 5);
  data["cut"] = slices(70, 300, 90);
  expect_strict_bits(words_of(pooled<T>, vjp(pooled<T>, x<T>)), data, {70, 5});
  data = rows(5000, 60);
  data["ids"] = names({4000}, 5000);
  data["z"] = floats(3, {5000}, 1, 2);
  expect_strict_bits(words_of(vjp(scaled<T>, x<T>), vjp(scaled<T>, z<T>)), data, {4000, 60});
  data["off"] = offsets_to(4000, 90);
  expect_strict_bits(
      words_of(embedding_bag(ids, x<T>, offsets(off)), vjp(embedding_bag(ids, x<T>, offsets(off)), x<T>)), data,
      {90, 60});
  expect_strict_bits(words_of(vjp(named<T>, z<T>)), {{"z", floats(1, {700}, -1, 1)}, {"ids", names({9000}, 700)}},
                     {9000});
}

template <class T>
void expect_strict_bits_of_windows() {
  expect_strict_bits(words_of(avg_pool1d<pool{.kernel = {64}, .stride = {1}}>(x<T>)), rows(3, 20000));
  expect_strict_bits(
      words_of(avg_pool2d<pool{.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}}>(image<T>),
               vjp(avg_pool2d<pool{.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}}>(image<T>), image<T>)),
      {{"image", floats(1, {4, 60, 70}, -1, 1)}}, {4, 30, 35});
}

TEST(strict_bits, of_f32_sums) { expect_strict_bits_of_sums<float>(); }
TEST(strict_bits, of_f64_sums) { expect_strict_bits_of_sums<double>(); }
TEST(strict_bits, of_f32_sums_by_names) { expect_strict_bits_of_names<float>(); }
TEST(strict_bits, of_f64_sums_by_names) { expect_strict_bits_of_names<double>(); }
TEST(strict_bits, of_f32_windows) { expect_strict_bits_of_windows<float>(); }
TEST(strict_bits, of_f64_windows) { expect_strict_bits_of_windows<double>(); }

TEST(bits, of_f32_are_those_of_the_cpu) { expect_bits_of_sums<float>(); }
TEST(bits, of_f64_are_those_of_the_cpu) { expect_bits_of_sums<double>(); }

}  // namespace
}  // namespace sheaf::test::bits_tests
