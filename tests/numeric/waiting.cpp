// Calls that do not wait for their kernels, and threads that do not wait for each other's.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include <sheaf/sheaf.hpp>

namespace sheaf::test {
namespace {

constexpr auto x = tensor<"x", float, 2>;
constexpr auto i = axis<"i">;
constexpr auto j = axis<"j">;
constexpr auto share = define<"share">(i, j) = exp(x(i, j)) / sum(j, exp(x(i, j)));
constexpr auto loss = define<"loss">() = sum(over(i, j), share(i, j) * share(i, j));

array<float, 2> rows_of(std::int64_t rows, std::int64_t columns) {
  array<float, 2> a(rows, columns);
  for (std::int64_t k = 0; k < rows * columns; ++k) a.data()[k] = static_cast<float>(k * 7919 % 4096) / 1024;
  return a;
}

template <class Program, class Rows>
void wait_for(const Program& step, const Rows& a) {
  for (int k = 0; k < 20000 && !step.ready(x = a); ++k) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

code code_of(const auto& call) {
  try {
    call();
  } catch (const error& e) {
    return e.code();
  }
  return code::broken_invariant;
}

TEST(waiting, a_call_that_is_not_ready_says_so_at_once) {
  const auto a = rows_of(300, 33);
  const auto step = compile(options{.wait = false}, share, grad(loss, x));
  array<float, 2> y(300, 33);
  y.fill(5);
  EXPECT_EQ(code::not_ready, code_of([&] { step(x = a, share = y); }));
  EXPECT_EQ(5, y(299, 32));
  wait_for(step, a);
  const auto dx = step(x = a, share = y);
  const auto [expected, gradient] = compile(share, grad(loss, x))(x = a);
  EXPECT_EQ(0, std::memcmp(expected.data(), y.data(), 300 * 33 * sizeof(float)));
  EXPECT_EQ(0, std::memcmp(gradient.data(), dx.data(), 300 * 33 * sizeof(float)));
  const statistics s = step.statistics();
  EXPECT_EQ(1, s.kernels);
  EXPECT_EQ(1, s.misses);
  EXPECT_GE(s.not_ready, 1);
}

TEST(waiting, prepare_waits) {
  const auto a = rows_of(400, 12);
  const auto step = compile(options{.wait = false}, share);
  EXPECT_FALSE(step.ready(x = like(400, 12)));
  step.prepare(x = like(400, 12));
  EXPECT_TRUE(step.ready(x = a));
  EXPECT_EQ(400, step(x = a).extent(0));
  EXPECT_EQ(1, step.statistics().kernels);
}

TEST(waiting, failures_are_told) {
  const auto a = rows_of(40, 12);
  const auto step = compile(options{.algorithm = algorithm::block_tree, .wait = false}, share);
  EXPECT_EQ(code::not_ready, code_of([&] { step(x = a); }));
  code seen = code::not_ready;
  for (int k = 0; k < 20000 && seen == code::not_ready; ++k) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    seen = code_of([&] { step(x = a); });
  }
  EXPECT_EQ(code::unsupported, seen);
  EXPECT_EQ(code::not_ready, code_of([&] { step(x = a); }));  // it is tried again
}

TEST(waiting, wrong_calls_are_errors_at_once) {
  const auto step = compile(options{.wait = false}, share);
  EXPECT_EQ(code::bad_argument, code_of([&] { step(x = like(4, 4)); }));
}

TEST(waiting, programs_go_while_they_are_compiled) {
  for (int k = 0; k < 5; ++k) {
    const auto a = rows_of(100 + k, 5);
    const auto step = compile(options{.wait = false}, share, grad(loss, x));
    for (int n = 1; n < 4; ++n) step.ready(x = like(1000 * n * n, 5));
  }
}

TEST(waiting, the_process_may_end_meanwhile) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        const auto step = compile(options{.wait = false}, share, grad(loss, x));
        step.ready(x = like(200, 5));
        std::exit(7);
      },
      testing::ExitedWithCode(7), "");
}

TEST(waiting, threads_make_their_kernels_at_the_same_time) {
  const auto step = compile(share, grad(loss, x));
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int n = 0; n < 4; ++n)
    threads.emplace_back([&, n] {
      for (const std::int64_t rows : {3, 40, 500, 6000, 20000}) {
        const auto a = rows_of(rows + n, 5 + 9 * n);
        const auto [y, dx] = step(x = a);
        const auto own = compile(share, grad(loss, x));
        const auto [y1, dx1] = own(x = a);
        const auto bytes = static_cast<std::size_t>(y.size()) * sizeof(float);
        wrong += std::memcmp(y.data(), y1.data(), bytes) != 0 || std::memcmp(dx.data(), dx1.data(), bytes) != 0;
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(0, wrong);
}

TEST(waiting, equal_calls_of_threads_make_one_kernel) {
  const auto step = compile(share, grad(loss, x));
  const auto a = rows_of(777, 9);
  std::vector<std::thread> threads;
  for (int n = 0; n < 4; ++n) threads.emplace_back([&] { step(x = a); });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(1, step.statistics().kernels);
  EXPECT_EQ(1, step.statistics().misses);
}

TEST(waiting, exact_kernels_are_for_one_set_of_extents) {
  const auto step = compile(options{.shapes = shape_policy::exact}, share);
  for (std::int64_t n = 1; n <= 10; ++n)
    for (int k = 0; k < 3; ++k) {
      const auto a = rows_of(1000 + n, 8);
      const auto y = step(x = a), y1 = compile(share)(x = a);
      EXPECT_EQ(0, std::memcmp(y.data(), y1.data(), static_cast<std::size_t>(y.size()) * sizeof(float)));
    }
  const statistics s = step.statistics();
  EXPECT_EQ(10, s.kernels);
  EXPECT_EQ(10, s.compiled + s.from_memory + s.from_disk);
  EXPECT_GE(s.from_memory, 8);  // the same text
}

}  // namespace
}  // namespace sheaf::test
