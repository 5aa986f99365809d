// A thread that compiles what calls don't wait for. It is started at the first need and joined when the process ends.
// Shown by tests/jit/background.cpp. Private header.
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace sheaf::inline v0_1::jit {

class background {
 public:
  static background& the();

  // Jobs run one after the other; they throw nothing. After the end of the process has begun none is run.
  void post(const void* owner, std::function<void()> job);
  // None of this owner's runs after this.
  void forget(const void* owner);
  // At the end of the process, before what was set up by now is taken down, the job that runs is waited for.
  static void join_at_exit();

 private:
  struct entry {
    const void* owner;
    std::function<void()> run;
  };
  background() = default;
  void work();
  void stop();

  std::mutex lock_;
  std::condition_variable changed_;
  std::deque<entry> jobs_;
  const void* busy_with_ = nullptr;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace sheaf::inline v0_1::jit
