#include <sheaf/runtime/host.hpp>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <vector>

#include <sheaf/runtime/cancel.hpp>
#include <sheaf/runtime/settings.hpp>
#include <sheaf/runtime/thread_pool.hpp>

namespace sheaf::inline v0_1 {

namespace {

struct endings {
  std::mutex lock;
  std::vector<void (*)()> list;
};
endings& the_endings() {
  static endings& once = *new endings;
  return once;
}

}  // namespace

namespace runtime {

void at_shutdown(void (*what)()) {
  endings& e = the_endings();
  const std::lock_guard guard(e.lock);
  if (std::find(e.list.begin(), e.list.end(), what) == e.list.end()) e.list.push_back(what);
}

}  // namespace runtime

void shutdown() {
  runtime::rest_default_pool();
  endings& e = the_endings();
  const std::lock_guard guard(e.lock);
  for (void (*what)() : e.list) what();
}

void status::release::operator()(char* words) const { std::free(words); }

void set_setting(const char* name, const char* value) { runtime::set_own_setting(name, value); }
void set_log_sink(log_sink sink, void* context) { runtime::set_log(sink, context); }

status attempt_call(void (*call)(void*), void* of) {
  status s;
  try {
    call(of);
    return s;
  } catch (const error& problem) {
    s.kind_ = problem.code();
    s.words_.reset(strdup(problem.what()));
  } catch (const cancelled& reason) {
    s.kind_ = code::cancelled;
    s.words_.reset(strdup(reason.what()));
  } catch (const std::bad_alloc&) {
    s.kind_ = code::out_of_memory;
  } catch (const std::exception& problem) {
    s.words_.reset(strdup(problem.what()));
  }
  s.failed_ = true;
  return s;
}

}  // namespace sheaf::inline v0_1
