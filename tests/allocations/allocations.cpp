// What calls allocate: outputs and workspace, and nothing else once their classes are there.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <random>

#include <sheaf/sheaf.hpp>

namespace {

std::atomic<std::int64_t> allocations = 0;
thread_local bool counts = false;

void* counted(std::size_t bytes, std::size_t alignment) {
  if (counts) ++allocations;
  const std::size_t unit = alignment == 0 ? 1 : alignment, whole = (bytes + unit - 1) / unit * unit;
  void* p = alignment == 0 ? std::malloc(bytes) : std::aligned_alloc(alignment, whole);
  if (p == nullptr) throw std::bad_alloc();
  return p;
}

}  // namespace

void* operator new(std::size_t bytes) { return counted(bytes, 0); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return counted(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }

namespace sheaf::test {
namespace {

constexpr auto x = tensor<"x", float, 2>;
constexpr auto cut = tensor<"cut", std::int64_t, 2>;
constexpr auto m = axis<"m">;
constexpr auto t = axis<"t">;
constexpr auto f = axis<"f">;
constexpr auto pooled = define<"pooled">(m, f) = mean(t.in(cut(m, 0_c), cut(m, 1_c)), x(t, f));
constexpr auto loss = define<"loss">() = sum(over(m, f), pooled(m, f) * pooled(m, f));

// Once the program has seen calls like these, more of them, of sizes that it has not seen, allocate nothing.
template <class Call>
void expect_none(Call call) {
  std::mt19937_64 random(3);
  const auto below = [&](std::uint64_t n) { return static_cast<std::int64_t>(random() % n); };
  for (int k = 0; k < 1500; ++k) call(2000 + below(2000), 20 + below(10));
  allocations = 0;
  for (int k = 0; k < 500; ++k) {
    const std::int64_t rows = 2000 + below(2000), slices = 20 + below(10);
    counts = true;
    call(rows, slices);
    counts = false;
  }
  EXPECT_EQ(0, allocations);
}

TEST(allocations, none_in_calls_of_new_sizes) {
  const array<float, 2> rows(4000, 8);
  array<float, 2> dx(4000, 8), means(30, 8);
  array<std::int64_t, 2> bounds(30, 2);
  for (std::int64_t k = 0; k < 30; ++k) bounds(k, 0) = 10 * k, bounds(k, 1) = 10 * k + 40;
  array<float, 0> l;
  const auto step = compile(loss, grad(loss, x));
  expect_none([&](std::int64_t n, std::int64_t slices) {
    step(x = view_of(rows.data(), {n, 8}), cut = view_of<const std::int64_t>(bounds.data(), {slices, 2}), loss = l,
         grad(loss, x) = view_of(dx.data(), {n, 8}));
  });
  const auto forward = compile(pooled);
  expect_none([&](std::int64_t n, std::int64_t slices) {
    forward(x = view_of(rows.data(), {n, 8}), cut = view_of<const std::int64_t>(bounds.data(), {slices, 2}),
            pooled = view_of(means.data(), {slices, 8}));
  });
}

// A transposed argument, whose dimensions are permuted for the kernel.
TEST(allocations, none_where_arguments_are_arranged) {
  const array<float, 2> rows(8, 4000);
  array<float, 1> sums(4000);
  constexpr auto total = define<"total">(t) = sum(f, x(t, f));
  const auto step = compile(total);
  expect_none([&](std::int64_t n, std::int64_t) {
    step(x = view_of(rows.data(), {n, 8}, {1, 4000}), total = view_of(sums.data(), {n}));
  });
}

// Outputs that a call returns are arrays; they are not made with operator new.
TEST(allocations, none_but_arrays) {
  const array<float, 2> rows(4000, 8);
  const auto step = compile(define<"twice">(t, f) = x(t, f) + x(t, f));
  expect_none([&](std::int64_t n, std::int64_t) { step(x = view_of(rows.data(), {n, 8})); });
}

}  // namespace
}  // namespace sheaf::test
