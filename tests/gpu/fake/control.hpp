// What tests ask of the fake driver beside CUDA's own calls, by dlsym on the library that is opened already.
#pragma once
#include <dlfcn.h>

#include <cstdlib>
#include <string>

namespace sheaf::fake {

inline void* opened(const char* path) { return dlopen(path, RTLD_NOW | RTLD_NOLOAD); }

// How often a call was made since the start.
inline long calls(const char* name) {
  static const auto ask = reinterpret_cast<long (*)(const char*)>(dlsym(opened(SHEAF_FAKE_CUDA), "fake_calls"));
  return ask(name);
}
// Bytes that are allocated on a device and not freed; frees wait for their stream.
inline long long allocated(int device) {
  static const auto ask = reinterpret_cast<long long (*)(int)>(dlsym(opened(SHEAF_FAKE_CUDA), "fake_allocated"));
  return ask(device);
}
// A device that crashed stays so; for the tests that follow it is as new.
inline void recover() { reinterpret_cast<void (*)()>(dlsym(opened(SHEAF_FAKE_CUDA), "fake_recover"))(); }
// How often the fake compiler compiled; it is not even opened where code comes from the disk.
inline long compiles() {
  void* library = opened(SHEAF_FAKE_NVRTC);
  if (library == nullptr) return 0;
  return reinterpret_cast<long (*)()>(dlsym(library, "fake_compiles"))();
}

// Sets a variable that the fakes look at in each call, until it goes out of scope.
class with {
 public:
  with(const char* name, const std::string& value) : name_(name) { setenv(name, value.c_str(), 1); }
  ~with() { unsetenv(name_); }
  with(const with&) = delete;

 private:
  const char* name_;
};

}  // namespace sheaf::fake
