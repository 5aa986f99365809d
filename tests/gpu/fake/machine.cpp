#include "machine.hpp"

#include <cstdlib>
#include <cstring>

namespace sheaf::fake {

machine& here() {
  static machine& one = *new machine;  // arrays of static duration give memory back late
  return one;
}
context*& current() {
  static thread_local context* now = nullptr;
  return now;
}

long number_of(const char* variable, long otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr || *text == '\0' ? otherwise : std::strtol(text, nullptr, 10);
}

int machine::devices() const { return static_cast<int>(number_of("FAKE_DEVICES", 2)); }

int machine::run() {
  while (!queue.empty() && crashed == 0) {
    const work next = std::move(queue.front());
    queue.pop_front();
    clock += 0.001;
    crashed = next();
  }
  if (crashed != 0) queue.clear();
  return crashed;
}

int machine::put(stream& s, work w) {
  if (s.capturing != nullptr) {
    s.capturing->nodes.push_back(std::move(w));
    return success;
  }
  queue.push_back(std::move(w));
  return number_of("FAKE_EAGER", 0) != 0 ? run() : success;
}

stream& machine::stream_of(void* handle) {
  if (handle != nullptr) return *static_cast<stream*>(handle);
  const auto [at, made] = main_streams.try_emplace(current(), stream{current(), 0});
  if (made) at->second.number = next_number++;
  return at->second;
}

bool machine::inside(std::uint64_t at, std::size_t bytes) const {
  auto after = memory.upper_bound(at);
  if (after == memory.begin()) return false;
  const auto& [first, block] = *--after;
  return !block.freed && at - first + bytes <= block.bytes;
}

int enter(const char* name) {
  machine& m = here();
  const long made = ++m.calls[name];
  const char* failing = std::getenv("FAKE_FAIL");
  if (failing == nullptr) return m.failing.clear(), success;
  if (m.failing != failing) m.failing = failing, m.failing_since = -1;
  const std::string words = failing;
  const std::size_t colon = words.find(':');
  if (words.substr(0, colon) != name) return success;
  if (m.failing_since < 0) m.failing_since = made - 1;
  char* rest = nullptr;
  const long status = std::strtol(words.c_str() + colon + 1, &rest, 10);
  const long first = *rest == ':' ? std::strtol(rest + 1, nullptr, 10) : 1;
  return made - m.failing_since >= first ? static_cast<int>(status) : success;
}

}  // namespace sheaf::fake
