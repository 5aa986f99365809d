#include <sheaf/runtime/deep_stack.hpp>

#include <pthread.h>

#include <exception>
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

}  // namespace

void on_deep_stack(const std::function<void()>& work) {
  job j{work, nullptr};
  pthread_attr_t attributes;
  pthread_t thread{};
  pthread_attr_init(&attributes);
  const bool started = pthread_attr_setstacksize(&attributes, deep_stack_bytes) == 0 &&
                       pthread_create(&thread, &attributes, start, &j) == 0;
  pthread_attr_destroy(&attributes);
  if (!started)
    fail(code::out_of_memory, "a program of many operations", std::to_string(deep_stack_bytes) + " bytes of stack",
         "no address space left");
  pthread_join(thread, nullptr);
  if (j.thrown) std::rethrow_exception(j.thrown);
}

}  // namespace sheaf::inline v0_1::runtime
