#include <sheaf/runtime/processors.hpp>
#include <sheaf/runtime/thread_pool.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

using sheaf::parallel_hook;
using sheaf::runtime::processors;
using sheaf::runtime::thread_pool;

constexpr double long_enough = 1e6;  // nanoseconds an iteration: every loop is worth sharing

// Counts visits by iteration; the call's tensors carry the counters, as a kernel's would.
struct counters {
  std::vector<std::atomic<int>> visits;
  sheaf_tensor tensor{};
  sheaf_call call{};

  explicit counters(std::int64_t count) : visits(static_cast<std::size_t>(count)) {
    tensor.data = visits.data();
    call.tensors = &tensor;
  }
  bool each_once() const {
    for (const auto& visit : visits)
      if (visit.load() != 1) return false;
    return true;
  }
};

void visit(const sheaf_call* call, std::int64_t begin, std::int64_t end) {
  auto* visits = static_cast<std::atomic<int>*>(call->tensors[0].data);
  for (std::int64_t i = begin; i < end; ++i) visits[i].fetch_add(1);
}

TEST(thread_pool, runs_each_iteration_once) {
  for (const int threads : {1, 2, 3, 8, 32}) {
    thread_pool pool(threads);
    for (const std::int64_t count : {1, 2, 7, 31, 1000, 100'003}) {
      counters seen(count);
      pool.run(visit, &seen.call, count, long_enough);
      EXPECT_TRUE(seen.each_once()) << threads << " threads, " << count << " iterations";
    }
  }
}

// Each iteration is told how long its chunk was. Chunks shrink, so that threads end together.
TEST(thread_pool, the_last_chunks_are_the_smallest) {
  const auto tell = [](const sheaf_call* call, std::int64_t begin, std::int64_t end) {
    auto* sizes = static_cast<std::atomic<int>*>(call->tensors[0].data);
    for (std::int64_t i = begin; i < end; ++i) sizes[i] = static_cast<int>(end - begin);
  };
  for (const int threads : {2, 3, 8}) {
    thread_pool pool(threads);
    counters seen(4096);
    pool.run(tell, &seen.call, 4096, long_enough);
    for (std::size_t i = 1; i < seen.visits.size(); ++i) ASSERT_LE(seen.visits[i], seen.visits[i - 1]) << i;
    EXPECT_EQ(seen.visits.back(), 1);
    EXPECT_GT(seen.visits.front(), 4096 / (8 * threads));
  }
}

TEST(thread_pool, many_short_loops_in_a_row) {
  thread_pool pool(4);
  for (int round = 0; round < 5000; ++round) {
    counters seen(16);
    pool.run(visit, &seen.call, 16, long_enough);
    ASSERT_TRUE(seen.each_once()) << round;
  }
}

// Ends only when two threads are inside at a time.
std::atomic<int> threads_inside;
void meet(const sheaf_call*, std::int64_t, std::int64_t) {
  threads_inside.fetch_add(1);
  while (threads_inside.load() < 2) std::this_thread::yield();
}

TEST(thread_pool, other_threads_take_part_awake_or_asleep) {
  thread_pool pool(2);
  for (int round = 0; round < 20; ++round) {
    threads_inside = 0;
    pool.run(meet, nullptr, 2, long_enough);
    EXPECT_EQ(threads_inside.load(), 2);
    if (round % 2) std::this_thread::sleep_for(std::chrono::milliseconds(2));  // well beyond the time workers spin
  }
}

TEST(processors, a_thread_leaves_the_one_that_its_caller_keeps_busy) {
  const auto allowed = [] {
    cpu_set_t all;
    CPU_ZERO(&all);
    EXPECT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
    return all;
  };
  std::thread([&] {
    const cpu_set_t before = allowed();
    processors mine;
    const int first = processors::here();
    mine.leave(first);
    if (CPU_COUNT(&before) == 1) {
      EXPECT_EQ(processors::here(), first);
      return;
    }
    const int second = processors::here();
    EXPECT_NE(second, first);
    mine.leave(first);  // is not there
    EXPECT_NE(processors::here(), first);
    mine.leave(second);
    const cpu_set_t after = allowed();
    EXPECT_TRUE(CPU_ISSET(first, &after));
    EXPECT_FALSE(CPU_ISSET(second, &after));
    EXPECT_EQ(CPU_COUNT(&after), CPU_COUNT(&before) - 1);
  }).join();
}

TEST(thread_pool, the_caller_waits_for_slow_workers) {
  thread_pool pool(2);
  static std::atomic<int> finished;
  finished = 0;
  const auto slow = [](const sheaf_call*, std::int64_t, std::int64_t) {
    meet(nullptr, 0, 0);
    static std::atomic<int> order;
    if (order.fetch_add(1) % 2) std::this_thread::sleep_for(std::chrono::milliseconds(3));  // beyond the caller's spin
    finished.fetch_add(1);
  };
  for (int round = 1; round <= 10; ++round) {
    threads_inside = 0;
    pool.run(slow, nullptr, 2, long_enough);
    ASSERT_EQ(finished.load(), 2 * round);
  }
}

TEST(thread_pool, short_loops_stay_in_the_caller) {
  thread_pool pool(4);
  counters seen(1000);
  pool.run(visit, &seen.call, 1000, 1.0);  // one microsecond in all
  pool.run(visit, &seen.call, 0, long_enough);
  pool.run(visit, &seen.call, 1, long_enough);
  EXPECT_EQ(pool.loops_shared(), 0);
  pool.run(visit, &seen.call, 1000, 100.0);
  EXPECT_EQ(pool.loops_shared(), 1);
}

TEST(thread_pool, strange_costs_are_harmless) {
  thread_pool pool(4);
  for (const double cost : {0.0, -1.0, std::nan(""), HUGE_VAL, 1e300}) {
    counters seen(5000);
    pool.run(visit, &seen.call, 5000, cost);
    EXPECT_TRUE(seen.each_once()) << cost;
  }
}

TEST(thread_pool, a_loop_within_a_loop_runs_in_its_thread) {
  static thread_pool* shared_pool;
  static std::atomic<std::int64_t> inner_iterations;
  thread_pool pool(4);
  shared_pool = &pool;
  inner_iterations = 0;
  const auto outer = [](const sheaf_call*, std::int64_t begin, std::int64_t end) {
    const auto inner = [](const sheaf_call*, std::int64_t from, std::int64_t to) { inner_iterations += to - from; };
    for (std::int64_t i = begin; i < end; ++i) shared_pool->run(inner, nullptr, 100, long_enough);
  };
  pool.run(outer, nullptr, 50, long_enough);
  EXPECT_EQ(inner_iterations.load(), 5000);
  EXPECT_EQ(pool.loops_shared(), 1);
}

TEST(thread_pool, several_callers_at_a_time) {
  thread_pool pool(3);
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller)
    callers.emplace_back([&] {
      for (int round = 0; round < 300; ++round) {
        counters seen(97);
        pool.run(visit, &seen.call, 97, long_enough);
        wrong += !seen.each_once();
      }
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong.load(), 0);
}

TEST(thread_pool, starts_and_stops_without_work) {
  for (int i = 0; i < 50; ++i) {
    thread_pool idle(4);
    thread_pool used(4);
    counters seen(8);
    used.run(visit, &seen.call, 8, long_enough);
  }
}

TEST(parallel_hook, can_be_replaced) {
  const parallel_hook before = sheaf::current_parallel_hook();
  EXPECT_GE(before.threads, 1);
  static int calls;
  calls = 0;
  const auto own = [](void*, sheaf_body body, const sheaf_call* call, std::int64_t count, double) {
    ++calls;
    body(call, 0, count);
  };
  sheaf::set_parallel_hook({own, nullptr, 5});
  const parallel_hook now = sheaf::current_parallel_hook();
  EXPECT_EQ(now.threads, 5);
  counters seen(10);
  now.run(now.pool, visit, &seen.call, 10, long_enough);
  EXPECT_TRUE(seen.each_once());
  EXPECT_EQ(calls, 1);
  sheaf::set_parallel_hook(before);
  EXPECT_EQ(sheaf::current_parallel_hook().pool, before.pool);
}

}  // namespace
