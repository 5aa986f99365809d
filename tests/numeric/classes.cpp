// One program and calls whose sizes change: the bits are those of a program that saw only this call, and few kernels
// serve them all.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string>

#include <sheaf/sheaf.hpp>

namespace sheaf::test {
namespace {

constexpr auto x = tensor<"x", float, 2>;
constexpr auto v = tensor<"v", float, 2>;
constexpr auto cut = tensor<"cut", std::int64_t, 2>;
constexpr auto m = axis<"m">;
constexpr auto t = axis<"t">;
constexpr auto f = axis<"f">;
constexpr auto j = axis<"j">;
constexpr auto pooled = define<"pooled">(m, f) = mean(t.in(cut(m, 0_c), cut(m, 1_c)), x(t, f));
constexpr auto share = define<"share">(t, f) = exp(x(t, f)) / sum(j, exp(x(t, j)));
constexpr auto total = define<"total">(f) = sum(t, x(t, f));
constexpr auto running = cumsum(x, dim<0>);

std::mt19937_64 random_numbers(7);

array<float, 2> rows_of(std::int64_t rows, std::int64_t columns) {
  array<float, 2> a(rows, columns);
  for (std::int64_t k = 0; k < rows * columns; ++k)
    a.data()[k] = static_cast<float>(random_numbers() % 4096) / 1024 - 2;
  return a;
}

array<std::int64_t, 2> slices_of(std::int64_t slices, std::int64_t rows) {
  array<std::int64_t, 2> a(slices, std::int64_t{2});
  for (std::int64_t k = 0; k < slices; ++k) {
    const auto first = static_cast<std::int64_t>(random_numbers() % static_cast<std::uint64_t>(rows + 1));
    a(k, 0) = first;
    a(k, 1) = std::min(rows, first + static_cast<std::int64_t>(random_numbers() % 40));
  }
  return a;
}

template <class Array>
bool same_bits(const Array& a, const Array& b, std::size_t size) {
  return std::memcmp(a.data(), b.data(), size * sizeof *a.data()) == 0;
}

std::int64_t size_up_to(std::int64_t most) {
  return static_cast<std::int64_t>(random_numbers() % static_cast<std::uint64_t>(most + 1));
}

TEST(classes, slices_of_any_size) {
  const auto step = compile(pooled, vjp(pooled, x, v));
  for (int k = 0; k < 60; ++k) {
    const std::int64_t rows = size_up_to(k % 3 == 0 ? 20000 : 300), slices = size_up_to(k % 4 == 0 ? 2000 : 50);
    const auto a = rows_of(rows, 8), seed = rows_of(slices, 8);
    const auto bounds = slices_of(slices, rows);
    const auto [y, dx] = step(x = a, cut = bounds, v = seed);
    const auto own = compile(pooled, vjp(pooled, x, v));
    const auto [y1, dx1] = own(x = a, cut = bounds, v = seed);
    ASSERT_TRUE(same_bits(y, y1, static_cast<std::size_t>(slices * 8))) << rows << ", " << slices;
    ASSERT_TRUE(same_bits(dx, dx1, static_cast<std::size_t>(rows * 8))) << rows << ", " << slices;
  }
  EXPECT_LE(step.statistics().kernels, 30);
}

TEST(classes, dense_programs_of_any_size) {
  const auto step = compile(share, total, running);
  for (int k = 0; k < 60; ++k) {
    const std::int64_t rows = size_up_to(k % 4 == 0 ? 30000 : 200), columns = k % 5 == 0 ? size_up_to(70) : 24;
    const auto a = rows_of(rows, columns);
    const auto [s, sums, sofar] = step(x = a);
    const auto own = compile(share, total, running);
    const auto [s1, sums1, sofar1] = own(x = a);
    const auto all = static_cast<std::size_t>(rows * columns);
    ASSERT_TRUE(same_bits(s, s1, all)) << rows << ", " << columns;
    ASSERT_TRUE(same_bits(sums, sums1, static_cast<std::size_t>(columns))) << rows << ", " << columns;
    ASSERT_TRUE(same_bits(sofar, sofar1, all)) << rows << ", " << columns;
  }
}

template <class Array>
bool is_near(const Array& a, const Array& b, std::int64_t size) {
  for (std::int64_t k = 0; k < size; ++k)  // a mean of nothing is NaN
    if (!(std::isnan(a.data()[k]) && std::isnan(b.data()[k])) &&
        !(std::abs(a.data()[k] - b.data()[k]) <= 1e-4f * (1 + std::abs(b.data()[k])))) return false;
  return true;
}

// Where calls of a class of extents share a kernel, a few serve calls of any size.
TEST(classes, few_kernels_for_slices_of_any_size) {
  constexpr options by_classes{.shapes = shape_policy::classes};
  const auto step = compile(by_classes, pooled, vjp(pooled, x, v));
  const auto planned = compile(pooled, vjp(pooled, x, v));
  for (int k = 0; k < 80; ++k) {
    const std::int64_t rows = size_up_to(k % 3 == 0 ? 70000 : 300), slices = size_up_to(k % 4 == 0 ? 3000 : 50);
    const std::int64_t columns = k % 5 == 0 ? size_up_to(200) : 8;
    const auto a = rows_of(rows, columns), seed = rows_of(slices, columns);
    const auto bounds = slices_of(slices, rows);
    const auto [y, dx] = step(x = a, cut = bounds, v = seed);
    const auto own = compile(by_classes, pooled, vjp(pooled, x, v));
    const auto [y1, dx1] = own(x = a, cut = bounds, v = seed);
    ASSERT_TRUE(same_bits(y, y1, static_cast<std::size_t>(slices * columns))) << rows << ", " << slices;
    ASSERT_TRUE(same_bits(dx, dx1, static_cast<std::size_t>(rows * columns))) << rows << ", " << slices;
    if (k % 4 != 0) continue;
    const auto [y2, dx2] = planned(x = a, cut = bounds, v = seed);
    ASSERT_TRUE(is_near(y, y2, slices * columns)) << rows << ", " << slices;
    ASSERT_TRUE(is_near(dx, dx2, rows * columns)) << rows << ", " << slices;
  }
  EXPECT_LE(step.statistics().kernels, 8);
}

TEST(classes, few_kernels_for_dense_programs_of_any_size) {
  constexpr options by_classes{.shapes = shape_policy::classes};
  const auto step = compile(by_classes, share, total, running);
  const auto planned = compile(share, total, running);
  for (int k = 0; k < 60; ++k) {
    const std::int64_t rows = size_up_to(k % 4 == 0 ? 30000 : 200), columns = size_up_to(k % 7 == 0 ? 9000 : 70);
    const auto a = rows_of(rows, columns);
    const auto [s, sums, sofar] = step(x = a);
    const auto [s1, sums1, sofar1] = planned(x = a);
    ASSERT_TRUE(is_near(s, s1, rows * columns)) << rows << ", " << columns;
    ASSERT_TRUE(is_near(sums, sums1, columns)) << rows << ", " << columns;
    ASSERT_TRUE(is_near(sofar, sofar1, rows * columns)) << rows << ", " << columns;
  }
  EXPECT_LE(step.statistics().kernels, 8);
}

template <class T, int Rank>
std::size_t size_of(const array<T, Rank>& a) {
  std::size_t size = 1;
  for (int d = 0; d < Rank; ++d) size *= static_cast<std::size_t>(a.extent(d));
  return size;
}

// Lanes and blocks, of which the order of additions follows, are those of the class, whoever a plan is made for.
template <class... Outputs>
void expect_same_bits(const Outputs&... outputs) {
  const auto automatic = compile(outputs...);
  const auto exact = compile(options{.shapes = shape_policy::exact}, outputs...);
  const auto by_classes = compile(options{.shapes = shape_policy::classes}, outputs...);
  constexpr std::int64_t sizes[][2] = {{1, 1},     {12, 5},    {5, 300},  {37, 37},   {130, 12},
                                       {300, 130}, {1000, 37}, {3, 9000}, {20000, 40}, {2000, 500}};
  for (const auto& [rows, columns] : sizes) {
    const auto data = rows_of(rows, columns);
    const auto all = automatic(x = data), alone = exact(x = data), shared = by_classes(x = data);
    const auto compare = [&]<std::size_t... K>(std::index_sequence<K...>) {
      const auto is_same = [](const auto& a, const auto& b) { return same_bits(a, b, size_of(a)); };
      EXPECT_TRUE((is_same(std::get<K>(all), std::get<K>(alone)) && ...)) << rows << ", " << columns;
      EXPECT_TRUE((is_same(std::get<K>(all), std::get<K>(shared)) && ...)) << rows << ", " << columns;
    };
    compare(std::make_index_sequence<sizeof...(Outputs)>());
  }
}

TEST(classes, one_set_of_bits_by_any_policy) {
  constexpr auto whole = define<"whole">() = sum(over(t, f), x(t, f) * x(t, f));
  constexpr auto each = define<"each">(t) = sum(f, x(t, f));
  constexpr auto top = define<"top">(t) = logsumexp(f, x(t, f));
  constexpr auto below = define<"below">(f) = logsumexp(t, x(t, f));
  constexpr auto spread = define<"spread">(t) = sqrt(sum(f, x(t, f) * x(t, f)));
  constexpr auto loss = define<"loss">() = sum(t, top(t) * top(t));
  expect_same_bits(whole, each);
  expect_same_bits(share, total);
  expect_same_bits(top, grad(loss, x));
  expect_same_bits(below, spread);
}

// Of a dense layer's gradients: rows are wider than those that usually stand for their class.
TEST(classes, wider_rows_than_usual) {
  constexpr auto layer = define<"layer">(t, m) = tanh(sum(f, x(t, f) * v(m, f)));
  constexpr auto energy = define<"energy">() = sum(over(t, m), layer(t, m) * layer(t, m));
  constexpr options by_classes{.shapes = shape_policy::classes}, exact{.shapes = shape_policy::exact};
  for (const std::int64_t columns : {64, 65, 70, 96, 97, 129}) {
    const auto a = rows_of(16, columns), weights = rows_of(3, columns);
    const auto [e, da, dw] = compile(by_classes, energy, grad(energy, x), grad(energy, v))(x = a, v = weights);
    const auto [e1, da1, dw1] = compile(exact, energy, grad(energy, x), grad(energy, v))(x = a, v = weights);
    EXPECT_TRUE(is_near(e, e1, 1) && is_near(da, da1, 16 * columns) && is_near(dw, dw1, 3 * columns)) << columns;
  }
}

// Loops over quotients by an extent, of which the first call says little.
TEST(classes, divided_places_of_any_size) {
  constexpr auto row = define<"row">(j.in(0_c, extent(x, dim<0>) * extent(v, dim<0>))) =
      x(quotient(j, extent(v, dim<0>)), 0_c) - v(j % extent(v, dim<0>), 0_c);
  constexpr auto mirror = define<"mirror">(j.in(0_c, extent(x, dim<0>) + 9_c)) = x.reflected(j - 4_c, 1_c);
  constexpr auto each = define<"each">(j.in(0_c, 5_c * extent(x, dim<0>))) = x(quotient(j, 5_c), 1_c);
  constexpr options by_classes{.shapes = shape_policy::classes};
  const auto step = compile(by_classes, row, mirror, each);
  for (int k = 0; k < 60; ++k) {
    const std::int64_t rows = 1 + size_up_to(k % 4 == 0 ? 3000 : 40), period = size_up_to(k % 3 == 0 ? 300 : 12);
    const auto a = rows_of(rows, 2), b = rows_of(period, 1);
    const auto [y, m, e] = step(x = a, v = b);
    const auto place = [&](std::int64_t n) {
      const std::int64_t turn = std::max<std::int64_t>(2 * (rows - 1), 1), at = ((n % turn) + turn) % turn;
      return std::min(at, 2 * (rows - 1) - at);
    };
    for (std::int64_t n = 0; n < rows * period; ++n)
      ASSERT_EQ(y(n), a(n / period, 0) - b(n % period, 0)) << n << " of " << rows << " by " << period;
    for (std::int64_t n = 0; n < rows + 9; ++n) ASSERT_EQ(m(n), a(place(n - 4), 1)) << n << " of " << rows;
    for (std::int64_t n = 0; n < 5 * rows; ++n) ASSERT_EQ(e(n), a(n / 5, 1)) << n << " of " << rows;
  }
}

// What depends on extents alone is an error for the call that it is about, whatever calls came before.
TEST(classes, errors_are_of_the_call) {
  constexpr auto third = define<"third">(f) = x(2_c, f);
  const auto step = compile(third);
  const auto enough = rows_of(3, 4), few = rows_of(2, 4);
  for (int k = 0; k < 2; ++k) {
    EXPECT_EQ(enough(2, 1), step(x = enough)(1));
    EXPECT_THROW(step(x = few), error);
  }
}

TEST(classes, are_prepared_without_memory) {
  const auto step = compile(pooled, vjp(pooled, x, v));
  step.prepare(x = like(5000, 8), cut = like(100, 2), v = like(100, 8));
  EXPECT_EQ(1, step.statistics().kernels);
  EXPECT_NE(std::string::npos,
            std::string(step.explain(x = like(5000, 8), cut = like(100, 2), v = like(100, 8))).find("kernel"));
  step(x = rows_of(5000, 8), cut = slices_of(100, 5000), v = rows_of(100, 8));
  EXPECT_EQ(1, step.statistics().kernels);
  EXPECT_THROW(step.prepare(x = like(5000, 8), cut = like(100, 2), v = like(99, 8)), error);
  EXPECT_THROW(step(x = like(5000, 8), cut = slices_of(100, 5000), v = rows_of(100, 8)), error);
}

TEST(classes, are_counted) {
  const auto step = compile(total);
  const auto few = rows_of(5, 4), many = rows_of(50000, 4);
  for (int k = 0; k < 10; ++k) step(x = few);
  statistics s = step.statistics();
  EXPECT_EQ(1, s.kernels);
  EXPECT_EQ(1, s.classes);
  EXPECT_EQ(1, s.misses);
  EXPECT_EQ(9, s.hits);
  EXPECT_EQ(0, s.evicted);
  EXPECT_GT(s.compile_seconds, 0);
  EXPECT_GT(s.bytes, 4096);
  EXPECT_LT(s.bytes, 100000);
  EXPECT_NE(std::string::npos, std::string(step.explain(x = few)).find("classes: 1 of "));
  step(x = many);
  EXPECT_EQ(s.kernels + 1, step.statistics().kernels);
}

// What a class keeps is its code and what calls need: some tens of kilobytes.
TEST(classes, take_little_memory) {
  const auto step = compile(pooled, vjp(pooled, x, v));
  step.prepare(x = like(50000, 8), cut = like(1000, 2), v = like(1000, 8));
  EXPECT_LT(step.statistics().bytes, 100000);
}

// The service of bench/dynamic.cpp: sizes that change in every call. What is compiled are kernels; a class whose kernel
// is there was only planned.
template <class Program, class Prepare>
void expect_few(const Program& step, std::int64_t kernels, std::int64_t classes, const Prepare& prepare) {
  for (int k = 0; k < 4000; ++k) prepare(1 + size_up_to(99999), size_up_to(10000));
  const statistics s = step.statistics();
  EXPECT_LE(s.compiled + s.from_disk, kernels);
  EXPECT_LE(s.kernels, classes);
}

TEST(classes, few_kernels_where_sizes_change) {
  constexpr auto scores = tensor<"scores", float, 1>;
  constexpr auto part = tensor<"part", std::int64_t, 1>;
  constexpr auto loss = define<"loss">() = sum(over(m, f), pooled(m, f) * pooled(m, f));
  constexpr auto segment = define<"segment">(m.in(0_c, extent(part, dim<0>) - 1_c)) =
      logsumexp(t.in(part(m), part(m + 1_c)), scores(t));
  constexpr auto spread = define<"spread">() = sum(m, segment(m) * segment(m));
  const auto of_slices = compile(loss, grad(loss, x));
  // 12 and 20 where L2 has 1 MB: on processors with 2 MB its limit is none of the others'.
  expect_few(of_slices, 15, 24, [&](std::int64_t rows, std::int64_t slices) {
    of_slices.prepare(x = like(rows, 16), cut = like(slices, 2));
  });
  const auto of_segments = compile(spread, grad(spread, scores));
  // 16 before plans for a call asked what class it is of, which their bits follow; the kernels are as few.
  expect_few(of_segments, 9, 20, [&](std::int64_t rows, std::int64_t segments) {
    of_segments.prepare(scores = like(rows), part = like(segments + 1));
  });
}

TEST(classes, calls_go_from_memory) {
  const auto step = compile(total);
  for (std::int64_t rows = 1; rows < 3000; ++rows) step(x = rows_of(rows, 2));
  EXPECT_LE(step.statistics().kernels, 40);
}

}  // namespace
}  // namespace sheaf::test
