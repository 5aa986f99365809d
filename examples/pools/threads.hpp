// Parallel loops of Sheaf on a plain pool of std::thread: thread_team team(4); sheaf::set_parallel_hook(team.hook()).
#pragma once
#include <algorithm>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <queue>
#include <thread>
#include <vector>

#include <sheaf/runtime/thread_pool.hpp>

class thread_team {
 public:
  explicit thread_team(int threads) {
    for (int k = 1; k < threads; ++k) threads_.emplace_back([this] { work(); });
  }
  ~thread_team() {
    {
      const std::lock_guard guard(lock_);
      ends_ = true;
    }
    changed_.notify_all();
    for (std::thread& t : threads_) t.join();
  }

  sheaf::parallel_hook hook() {
    const auto run = [](void* pool, sheaf_body body, const sheaf_call* call, std::int64_t count, double cost) {
      static_cast<thread_team*>(pool)->run(body, call, count, cost);
    };
    return {run, this, static_cast<int>(threads_.size()) + 1};
  }

 private:
  // One task for each thread but the caller, which takes the first share and then what nobody has begun.
  void run(sheaf_body body, const sheaf_call* call, std::int64_t count, double cost) {
    const auto shares = static_cast<std::int64_t>(threads_.size()) + 1;
    if (shares == 1 || cost * static_cast<double>(count) < 20'000) return body(call, 0, count);
    const std::int64_t share = (count + shares - 1) / shares;
    std::int64_t left = 0;
    std::unique_lock guard(lock_);
    for (std::int64_t first = share; first < count; first += share, ++left)
      tasks_.push([=, this, &left] {
        body(call, first, std::min(first + share, count));
        const std::lock_guard finished(lock_);
        if (--left == 0) changed_.notify_all();
      });
    changed_.notify_all();
    guard.unlock();
    body(call, 0, std::min(share, count));
    guard.lock();
    while (left > 0) {
      if (tasks_.empty())
        changed_.wait(guard);
      else
        run_first(guard);
    }
  }
  void run_first(std::unique_lock<std::mutex>& guard) {
    const std::function<void()> task = std::move(tasks_.front());
    tasks_.pop();
    guard.unlock();
    task();
    guard.lock();
  }
  void work() {
    std::unique_lock guard(lock_);
    while (!ends_)
      if (tasks_.empty())
        changed_.wait(guard);
      else
        run_first(guard);
  }

  std::mutex lock_;
  std::condition_variable changed_;
  std::queue<std::function<void()>> tasks_;
  bool ends_ = false;
  std::vector<std::thread> threads_;
};
