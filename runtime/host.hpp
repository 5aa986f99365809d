// What an application decides instead of Sheaf: settings, memory, where lines of the log go, and when threads end.
// Threads that share loops: thread_pool.hpp. Shown by tests/runtime/host_test.cpp; docs/embedding.md has examples.
#pragma once
#include <cstddef>
#include <memory>
#include <type_traits>

#include <sheaf/runtime/error.hpp>

namespace sheaf::inline v0_1 {

// The setting that docs/settings.md names, instead of the environment variable: set_setting("SHEAF_CACHE", "off").
// Null: the variable again. Before the first program is compiled or called. Throws code::bad_setting for an unknown
// name and code::bad_argument where it is too late; a value that is not in the table's words where settings are read.
void set_setting(const char* name, const char* value);

// Lines that SHEAF_DEBUG asks for, without an end of line; null: stderr again. Called by any thread.
using log_sink = void (*)(void* context, int level, const char* line);
void set_log_sink(log_sink sink, void* context = nullptr);

// Memory of arrays and workspaces: at least `bytes`, aligned to 64; null where there is none. release gets the bytes
// that were asked for. A null allocate: Sheaf's own again. Throws code::bad_argument where arrays are alive or threads
// hold workspaces.
struct allocator_hook {
  void* (*allocate)(void* context, std::size_t bytes) = nullptr;
  void (*release)(void* context, void* block, std::size_t bytes) = nullptr;
  void* context = nullptr;
};
void set_allocator(const allocator_hook& hook);

// Joins the threads of the default pool and frees the workspaces that threads keep. No call may run meanwhile; the
// next one starts threads again. In the child of a fork there are none either, and it may call programs.
void shutdown();

// For code that has no exceptions of its own: what f threw, as a value.
//
//   if (sheaf::status s = sheaf::attempt([&] { step(x = rows, loss = l); }); !s) report(s.what());
class status {
 public:
  status() = default;
  explicit operator bool() const { return !failed_; }
  sheaf::code code() const { return kind_; }  // where it failed
  const char* what() const { return !failed_ ? "" : words_ == nullptr ? "no memory left" : words_.get(); }

 private:
  friend status attempt_call(void (*call)(void*), void* of);
  struct release {
    void operator()(char* words) const;
  };
  std::unique_ptr<char, release> words_;
  sheaf::code kind_ = code::broken_invariant;
  bool failed_ = false;
};
status attempt_call(void (*call)(void*), void* of);
template <class F>
status attempt(F&& f) {
  return attempt_call([](void* of) { (*static_cast<std::remove_reference_t<F>*>(of))(); },
                      const_cast<std::remove_cvref_t<F>*>(std::addressof(f)));
}

namespace runtime {

// What shutdown does beside the pool's threads; each function once. Private.
void at_shutdown(void (*what)());

}  // namespace runtime
}  // namespace sheaf::inline v0_1
