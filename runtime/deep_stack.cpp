#include <sheaf/runtime/deep_stack.hpp>

#include <pthread.h>

#include <algorithm>
#include <exception>
#include <iterator>
#include <string>

#include <sheaf/runtime/fail.hpp>

namespace sheaf::inline v0_1::runtime {

namespace {

struct job {
  const std::function<void()>& work;
  std::exception_ptr thrown;
};

void* start(void* argument) {
  job& j = *static_cast<job*>(argument);
  try {
    j.work();
  } catch (...) {
    j.thrown = std::current_exception();
  }
  return nullptr;
}

bool started(pthread_t& thread, std::size_t stack_bytes, job& j) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  const bool done =
      pthread_attr_setstacksize(&attributes, stack_bytes) == 0 && pthread_create(&thread, &attributes, start, &j) == 0;
  pthread_attr_destroy(&attributes);
  return done;
}

}  // namespace

void on_deep_stack(const std::function<void()>& work) {
  job j{work, nullptr};
  pthread_t thread{};
  // Where address space is limited (ulimit -v, a container) less has to do.
  const std::size_t sizes[] = {deep_stack_bytes, deep_stack_bytes / 4, least_deep_stack_bytes};
  if (std::none_of(std::begin(sizes), std::end(sizes), [&](std::size_t bytes) { return started(thread, bytes, j); }))
    fail(code::out_of_memory, "a program of many operations",
         std::to_string(least_deep_stack_bytes) + " bytes of stack", "no address space left");
  pthread_join(thread, nullptr);
  if (j.thrown) std::rethrow_exception(j.thrown);
}

}  // namespace sheaf::inline v0_1::runtime
