#include <sheaf/runtime/settings.hpp>

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <string_view>
#include <thread>

#include <sheaf/runtime/fail.hpp>

namespace sheaf::inline v0_1::runtime {
namespace {

constexpr int max_threads = 1024;

#if defined(SHEAF_VERIFY) || !defined(NDEBUG)
constexpr bool verify_by_default = true;
#else
constexpr bool verify_by_default = false;
#endif

// Processors this process may run on: a container that is given two of 64 must not start 64 threads.
int usable_processors() {
#ifdef __linux__
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) {
    int count = CPU_COUNT(&allowed);
    if (std::FILE* file = std::fopen("/sys/fs/cgroup/cpu.max", "re")) {
      long quota = 0;
      long period = 0;
      if (std::fscanf(file, "%ld %ld", &quota, &period) == 2 && quota > 0 && period > 0)
        count = static_cast<int>(std::min<long>(count, (quota + period - 1) / period));
      std::fclose(file);
    }
    return std::clamp(count, 1, max_threads);
  }
#endif
  return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, max_threads);
}

std::string_view text_of(setting_source source, const char* name) {
  const char* value = source(name);
  return value ? std::string_view(value) : std::string_view();
}

int number_of(setting_source source, const char* name, int low, int high, int fallback) {
  const std::string_view text = text_of(source, name);
  if (text.empty()) return fallback;
  int value = 0;
  const auto [rest, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc() || rest != text.data() + text.size() || value < low || value > high)
    fail(code::bad_setting, name, "a whole number of [" + std::to_string(low) + ", " + std::to_string(high) + "]",
         "\"" + std::string(text) + "\"");
  return value;
}

// A whole number from 1, with K, M or G for factors of 1024; 0: none of these.
std::int64_t amount_of(std::string_view text) {
  int shift = 0;
  for (const auto& [suffix, bits] : {std::pair{'K', 10}, {'M', 20}, {'G', 30}})
    if (text.ends_with(suffix)) shift = bits;
  if (shift != 0) text.remove_suffix(1);
  std::int64_t value = 0;
  const auto [rest, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = failure == std::errc() && rest == text.data() + text.size();
  return whole && value > 0 && value <= INT64_MAX >> shift ? value << shift : 0;
}

std::int64_t bytes_of(setting_source source, const char* name, std::int64_t fallback) {
  const std::string_view text = text_of(source, name);
  if (text.empty()) return fallback;
  const std::int64_t bytes = amount_of(text);
  if (bytes == 0) fail(code::bad_setting, name, "a number of bytes, such as 64M", "\"" + std::string(text) + "\"");
  return bytes;
}

// "COUNT" or "COUNT,BYTES"
limit limit_of(setting_source source, const char* name, limit fallback) {
  const std::string_view text = text_of(source, name);
  if (text.empty()) return fallback;
  const std::size_t comma = text.find(',');
  limit given = fallback;
  given.count = amount_of(text.substr(0, comma));
  if (comma != std::string_view::npos) given.bytes = amount_of(text.substr(comma + 1));
  if (given.count == 0 || given.bytes == 0)
    fail(code::bad_setting, name, "a number, or a number and bytes, such as 256,64M", "\"" + std::string(text) + "\"");
  return given;
}

bool switch_of(setting_source source, const char* name, bool fallback) {
  const std::string_view text = text_of(source, name);
  if (text.empty()) return fallback;
  if (text == "on" || text == "1") return true;
  if (text == "off" || text == "0") return false;
  fail(code::bad_setting, name, "on or off", "\"" + std::string(text) + "\"");
}

cache_use cache_of(setting_source source) {
  const std::string_view text = text_of(source, "SHEAF_CACHE");
  if (text.empty() || text == "on" || text == "1") return cache_use::on;
  if (text == "off" || text == "0") return cache_use::off;
  if (text == "read") return cache_use::read;
  fail(code::bad_setting, "SHEAF_CACHE", "on, read or off", "\"" + std::string(text) + "\"");
}

std::string backend_of(setting_source source) {
  const std::string_view text = text_of(source, "SHEAF_BACKEND");
  if (text.empty() || text == "llvm" || text == "reference") return text.empty() ? "llvm" : std::string(text);
  fail(code::bad_setting, "SHEAF_BACKEND", "llvm or reference", "\"" + std::string(text) + "\"");
}

std::string shapes_of(setting_source source) {
  const std::string_view text = text_of(source, "SHEAF_SHAPES");
  if (text.empty() || text == "automatic" || text == "classes" || text == "exact")
    return text.empty() ? "automatic" : std::string(text);
  fail(code::bad_setting, "SHEAF_SHAPES", "automatic, classes or exact", "\"" + std::string(text) + "\"");
}

symbol_use symbols_of(setting_source source) {
  const std::string_view text = text_of(source, "SHEAF_SYMBOLS");
  if (text.empty() || text == "off" || text == "0") return symbol_use::off;
  if (text == "perf") return symbol_use::perf;
  if (text == "jitdump") return symbol_use::jitdump;
  if (text == "gdb") return symbol_use::gdb;
  if (text == "on" || text == "1") return symbol_use::on;
  fail(code::bad_setting, "SHEAF_SYMBOLS", "perf, jitdump, gdb, on or off", "\"" + std::string(text) + "\"");
}

// What is found there is run: the folder that a process happens to be in doesn't choose it.
std::string path_of(setting_source source, const char* name) {
  const std::string_view text = text_of(source, name);
  if (!text.empty() && !text.starts_with('/'))
    fail(code::bad_setting, name, "an absolute path", "\"" + std::string(text) + "\"");
  return std::string(text);
}

// A name without a slash is looked for where the system keeps its libraries.
std::string library_of(setting_source source, const char* name) {
  const std::string_view text = text_of(source, name);
  return text.find('/') == std::string_view::npos ? std::string(text) : path_of(source, name);
}

std::string cache_dir_of(setting_source source) {
  if (std::string own = path_of(source, "SHEAF_CACHE_DIR"); !own.empty()) return own;
  // The XDG base directory specification: a relative path there is to be ignored.
  if (const auto base = text_of(source, "XDG_CACHE_HOME"); base.starts_with('/')) return std::string(base) + "/sheaf";
  if (const auto home = text_of(source, "HOME"); home.starts_with('/')) return std::string(home) + "/.cache/sheaf";
  return {};
}

// Nothing where a program runs with more rights than who started it: these variables name code.
const char* from_environment(const char* name) { return secure_getenv(name); }

}  // namespace

settings read_settings(setting_source source) {
  settings result;
  result.symbols = symbols_of(source);
  result.debug = number_of(source, "SHEAF_DEBUG", 0, 9, 0);
  result.threads = number_of(source, "SHEAF_THREADS", 1, max_threads, 0);
  if (result.threads == 0) result.threads = usable_processors();
  result.cache = cache_of(source);
  result.cache_dir = cache_dir_of(source);
  if (result.cache_dir.empty()) result.cache = cache_use::off;
  result.cache_limit = limit_of(source, "SHEAF_CACHE_LIMIT", {16384, std::int64_t{1} << 30});
  result.program_limit = limit_of(source, "SHEAF_PROGRAM_LIMIT", {256, std::int64_t{64} << 20});
  result.workspace_limit = bytes_of(source, "SHEAF_WORKSPACE_LIMIT", std::int64_t{1} << 30);
  result.array_limit = bytes_of(source, "SHEAF_ARRAY_LIMIT", std::int64_t{256} << 20);
  result.process_limit = limit_of(source, "SHEAF_PROCESS_LIMIT", {4096, std::int64_t{512} << 20});
  result.backend = backend_of(source);
  result.shapes = shapes_of(source);
  result.llvm_plugin = path_of(source, "SHEAF_LLVM_PLUGIN");
  result.target = text_of(source, "SHEAF_TARGET");
  result.cuda = library_of(source, "SHEAF_CUDA");
  result.nvrtc = library_of(source, "SHEAF_NVRTC");
  result.verify = switch_of(source, "SHEAF_VERIFY", verify_by_default);
  return result;
}

namespace {

// What the application set, and whether settings were read.
struct own_settings {
  std::mutex lock;
  std::map<std::string, std::string> values;
  bool read = false;
};
own_settings& the_own() {
  static own_settings& once = *new own_settings;
  return once;
}

const char* from_application(const char* name) {
  const auto& own = the_own().values;
  const auto found = own.find(name);
  return found != own.end() ? found->second.c_str() : from_environment(name);
}

struct sink {
  void (*write)(void*, int, const char*) = nullptr;
  void* context = nullptr;
};
std::mutex sink_lock;
sink current_sink;

}  // namespace

const settings& current_settings() {
  static const settings once = [] {
    own_settings& own = the_own();
    const std::lock_guard guard(own.lock);
    const settings found = read_settings(from_application);
    own.read = true;
    return found;
  }();
  return once;
}

std::string settings_table() {
  std::string text = "| variable | default | meaning |\n|---|---|---|\n";
  for (const setting_row& row : setting_rows)
    text += std::string("| `") + row.name + "` | " + row.fallback + " | " + row.meaning + " |\n";
  return text;
}

void debug_line(int level, const std::string& words) {
  if (current_settings().debug < level) return;
  sink to;
  {
    const std::lock_guard guard(sink_lock);
    to = current_sink;
  }
  if (to.write != nullptr)
    to.write(to.context, level, words.c_str());
  else
    std::fprintf(stderr, "sheaf: %s\n", words.c_str());
}

void set_own_setting(const char* name, const char* value) {
  const auto is_known = [&](const setting_row& row) { return std::strcmp(row.name, name) == 0; };
  if (std::none_of(std::begin(setting_rows), std::end(setting_rows), is_known))
    fail(code::bad_setting, "set_setting", "the name of a setting", std::string("\"") + name + "\"");
  own_settings& own = the_own();
  const std::lock_guard guard(own.lock);
  if (own.read)
    fail(code::bad_argument, "set_setting", "a call before the first program is compiled", "one after it");
  if (value == nullptr)
    own.values.erase(name);
  else
    own.values[name] = value;
}

void set_log(void (*write)(void*, int, const char*), void* context) {
  const std::lock_guard guard(sink_lock);
  current_sink = {write, context};
}

}  // namespace sheaf::inline v0_1::runtime
