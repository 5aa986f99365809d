// The fake driver's machine: devices with memory of the host, and one queue of work that runs when somebody waits.
//
// Variables that it looks at in each call:
//   FAKE_DEVICES=2        how many there are            FAKE_CAPABILITY=90    of each
//   FAKE_VERSION=13000    of the driver                 FAKE_MEMORY=BYTES     of each device, else as much as there is
//   FAKE_POOLS=0          devices have no memory pools  FAKE_EAGER=1          work runs when it is queued
//   FAKE_FAIL=CALL:STATUS[:N]   a call fails, from the Nth one on that is made after this is set
//   FAKE_CRASH=STATUS     the next kernel ends the device's work with that status, which every call then returns
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace sheaf::fake {

enum : int {
  success = 0,
  invalid_value = 1,
  out_of_memory = 2,
  not_initialised = 3,
  no_device = 100,
  invalid_device = 101,
  invalid_image = 200,
  invalid_context = 201,
  no_binary = 209,
  invalid_handle = 400,
  not_found = 500,
  not_ready = 600,
  illegal_address = 700,
  launch_failed = 719,
  capture_unsupported = 900,
  capture_invalidated = 901,
};

using work = std::function<int()>;

struct context {
  int device;
};
struct graph {
  std::vector<work> nodes;
};
struct stream {
  context* owner;
  unsigned long long number;
  std::unique_ptr<graph> capturing = nullptr;
  bool invalidated = false;
  unsigned long long capture = 0;
};
struct event {
  context* owner;
  double at = -1;
};
struct pool {
  int device;
};
struct module {
  context* owner;
  void* library;
};
struct function {
  module* owner;
  std::string name;
  void (*thread)(const void*);
  unsigned long bytes;
  int dynamic_shared = 48 << 10;
};
struct allocation {
  std::size_t bytes;
  int device;
  std::unique_ptr<char[]> memory;
  bool freed = false;
};

struct machine {
  std::recursive_mutex lock;
  bool initialised = false;
  std::map<int, context> contexts;
  std::map<context*, stream> main_streams;
  std::map<std::uint64_t, allocation> memory;  // by first address
  std::map<int, long long> allocated;
  std::deque<work> queue;
  std::map<std::string, long> calls;
  std::string failing;
  long failing_since = 0;
  int crashed = 0;
  unsigned long long next_number = 1;
  double clock = 0;  // milliseconds of fake time: what ran so far

  int devices() const;
  // Runs all that is queued; what went wrong stays.
  int run();
  // Runs now, later, or goes into the graph of a capture.
  int put(stream& s, work w);
  stream& stream_of(void* handle);
  // Whether [at, at + bytes) is allocated on a device.
  bool inside(std::uint64_t at, std::size_t bytes) const;
};
machine& here();
context*& current();
long number_of(const char* variable, long otherwise);

// Counts the call and says whether it is to fail.
int enter(const char* name);

}  // namespace sheaf::fake
