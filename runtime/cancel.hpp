// Calls that another thread may end before they are done. Shown by tests/runtime/cancel_test.cpp and
// tests/packages/cancel.cpp.
#pragma once
#include <atomic>
#include <exception>

#include <sheaf/runtime/thread_pool.hpp>

namespace sheaf::inline v0_1 {

// Cancels the calls that look at it, from any thread, until it is reset.
//
//   sheaf::cancel_token stop;   // another thread: stop.cancel()
//   try { const sheaf::cancel_scope scope(stop); step(x = rows, loss = l); }
//   catch (const sheaf::cancelled&) {}
class cancel_token {
 public:
  void cancel() noexcept { is_cancelled_.store(true, std::memory_order_relaxed); }
  void reset() noexcept { is_cancelled_.store(false, std::memory_order_relaxed); }
  bool is_cancelled() const noexcept { return is_cancelled_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> is_cancelled_ = false;
};

// What a cancelled call throws: nobody's fault, so it is no sheaf::error. Its outputs are unspecified.
class cancelled : public std::exception {
 public:
  const char* what() const noexcept override { return "the call was cancelled"; }
};

// Calls of this thread look at the token until the end of the scope: before they begin, and on CPUs between iterations
// of parallel loops, every 0.2 ms where those are shorter. What a call compiles is compiled to the end, and a GPU does
// what it has been given. The token outlives the scope.
class cancel_scope {
 public:
  explicit cancel_scope(const cancel_token& token) noexcept;
  ~cancel_scope();
  cancel_scope(const cancel_scope&) = delete;
  cancel_scope& operator=(const cancel_scope&) = delete;

 private:
  const cancel_token* before_;
};

namespace runtime {

inline std::atomic<int> cancel_scopes = 0;  // of all threads
const cancel_token* token_of_thread() noexcept;
// That of this thread's scope; null: none.
inline const cancel_token* current_cancel_token() noexcept {
  return cancel_scopes.load(std::memory_order_relaxed) == 0 ? nullptr : token_of_thread();
}
// Runs a kernel. Throws `cancelled` where it was ended.
std::int32_t run_cancellable(sheaf_entry entry, const sheaf_call& call, const cancel_token& token);

}  // namespace runtime
}  // namespace sheaf::inline v0_1
