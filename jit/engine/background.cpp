#include <sheaf/jit/engine/background.hpp>

#include <cstdlib>

namespace sheaf::inline v0_1::jit {

// Never destroyed: static programs may outlive it.
background& background::the() {
  static background& once = *new background;
  return once;
}

void background::join_at_exit() {
  std::atexit([] { the().stop(); });
}

void background::post(const void* owner, std::function<void()> job) {
  const std::lock_guard guard(lock_);
  if (stopping_) return;
  jobs_.push_back({owner, std::move(job)});
  if (!thread_.joinable()) {
    join_at_exit();
    thread_ = std::thread([this] { work(); });
  }
  changed_.notify_all();
}

void background::work() {
  std::unique_lock lock(lock_);
  for (bool first = true;; first = false) {
    changed_.wait(lock, [&] { return stopping_ || !jobs_.empty(); });
    if (stopping_) return;
    entry job = std::move(jobs_.front());
    jobs_.pop_front();
    busy_with_ = job.owner;
    lock.unlock();
    job.run();
    job.run = nullptr;
    if (first) join_at_exit();  // what the first one set up, others use
    lock.lock();
    busy_with_ = nullptr;
    changed_.notify_all();
  }
}

void background::forget(const void* owner) {
  std::unique_lock lock(lock_);
  std::erase_if(jobs_, [&](const entry& e) { return e.owner == owner; });
  changed_.wait(lock, [&] { return busy_with_ != owner; });
}

void background::stop() {
  std::unique_lock lock(lock_);
  stopping_ = true;
  jobs_.clear();
  changed_.notify_all();
  std::thread own = std::move(thread_);
  lock.unlock();
  if (own.joinable()) own.join();
}

}  // namespace sheaf::inline v0_1::jit
