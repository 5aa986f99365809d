// What every call of the fake driver begins with. For driver.cpp and streams.cpp.
#pragma once
#include "machine.hpp"

// Begins a call: counted, made to fail where the test wants that, and in need of a context.
#define ENTER(name)                                                     \
  const std::lock_guard guard(here().lock);                             \
  if (const int wanted = enter(name); wanted != success) return wanted; \
  if (!here().initialised) return not_initialised
#define ENTER_CONTEXT(name)                         \
  ENTER(name);                                      \
  if (current() == nullptr) return invalid_context; \
  if (here().crashed != 0) return here().crashed
// Ends a capture that meets a call which can't be captured.
#define NO_CAPTURE(s)             \
  if ((s).capturing != nullptr) { \
    (s).invalidated = true;       \
    return capture_unsupported;   \
  }
