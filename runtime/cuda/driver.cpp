#include <sheaf/runtime/cuda/driver.hpp>

#include <atomic>
#include <mutex>

#include <sheaf/runtime/cuda/library.hpp>
#include <sheaf/runtime/fail.hpp>
#include <sheaf/runtime/settings.hpp>

namespace sheaf::inline v0_1::runtime::cuda {

namespace {

constexpr int least_version = 12000;

// The table that errors are worded with: the first that was opened.
std::atomic<const driver_table*> speaker = nullptr;

template <class... A>
void bind(checked_call<A...>& call, const char* symbol, const opened_library& library) {
  call.name = symbol;
  call.raw = reinterpret_cast<status (*)(A...)>(symbol_of(library, symbol));
}

std::string words_of(const driver_table& d, status found) {
  const char* name = nullptr;
  const char* text = nullptr;
  std::string words = d.error_name.raw(found, &name) == 0 && name != nullptr ? name : "status";
  words += " (" + std::to_string(found) + ")";
  if (d.error_text.raw(found, &text) == 0 && text != nullptr) words += std::string(": ") + text;
  return words;
}

[[noreturn]] void fail_opening(const driver_table& d, const char* call, status found) {
  fail(code::device_failed, "compile for a GPU", std::string("success of ") + call, words_of(d, found));
}

}  // namespace

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

driver_table open_driver(const std::string& path) {
  const std::string& chosen = path.empty() ? current_settings().cuda : path;
  const std::string name = chosen.empty() ? "libcuda.so.1" : chosen;
  const opened_library library =
      open_library({name}, "the driver, " + name + " (the setting SHEAF_CUDA names another path)");
  driver_table d;
  d.path = library.path;
  // The version before the rest: an old driver lacks calls, and that is not what to say of it.
  bind(d.driver_version, "cuDriverGetVersion", library);
  bind(d.error_name, "cuGetErrorName", library);
  bind(d.error_text, "cuGetErrorString", library);
  if (const status found = d.driver_version.raw(&d.version); found != 0) fail_opening(d, "cuDriverGetVersion", found);
  if (d.version < least_version)
    fail(code::device_failed, "compile for a GPU", "a driver of CUDA " + version_text(least_version) + " or newer",
         "one of CUDA " + version_text(d.version));
#define SHEAF_BIND(field, symbol, ...) bind(d.field, #symbol, library);
  SHEAF_DRIVER_CALLS(SHEAF_BIND)
#undef SHEAF_BIND
  if (const status found = d.initialise.raw(0); found != 0) fail_opening(d, "cuInit", found);
  return d;
}

const driver_table& driver() {
  if (const driver_table* opened = speaker.load(std::memory_order_acquire)) return *opened;
  static std::mutex opening;
  const std::lock_guard lock(opening);
  if (const driver_table* opened = speaker.load(std::memory_order_acquire)) return *opened;
  // Never freed: arrays of static duration give their memory back after everything else.
  const auto* made = new driver_table(open_driver(""));
  speaker.store(made, std::memory_order_release);
  return *made;
}

void fail_status(const char* call, status found) {
  const driver_table* d = speaker.load(std::memory_order_acquire);
  fail(found == out_of_memory ? code::out_of_memory : code::device_failed, call, "success",
       d != nullptr ? words_of(*d, found) : "status " + std::to_string(found));
}

}  // namespace sheaf::inline v0_1::runtime::cuda
