// Every environment variable, in one table. Shown by tests/runtime/settings_test.cpp. Private header.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

namespace sheaf::inline v0_1::runtime {

struct setting_row {
  const char* name;
  const char* fallback;
  const char* meaning;
};

inline constexpr setting_row setting_rows[] = {
    {"SHEAF_DEBUG", "0",
     "what is written to stderr: 0 nothing, 1 what went wrong and was survived, 2 times, 3 plans, 4 and 5 code, "
     "6 passes"},
    {"SHEAF_THREADS", "the processors this process may use", "threads of the default pool, the calling one included"},
    {"SHEAF_CACHE", "on", "kernel cache on disk: on, read (never written) or off"},
    {"SHEAF_CACHE_DIR", "$XDG_CACHE_HOME/sheaf, or ~/.cache/sheaf",
     "absolute path of the kernel cache; not used where others can write it"},
    {"SHEAF_CACHE_LIMIT", "16384,1G",
     "kernels and bytes of the cache on disk; what was not used for longest is deleted"},
    {"SHEAF_PROGRAM_LIMIT", "256,64M",
     "kernels of a program, and bytes of their code and plans; what was not used for longest is compiled anew"},
    {"SHEAF_PROCESS_LIMIT", "4096,512M", "the same of all programs"},
    {"SHEAF_WORKSPACE_LIMIT", "1G", "bytes of workspace that a thread keeps from one call to the next"},
    {"SHEAF_ARRAY_LIMIT", "256M", "bytes of arrays of 128 kB and more that were freed and are kept for the next ones"},
    {"SHEAF_BACKEND", "llvm",
     "what runs programs: llvm, or reference, the slow evaluator that defines what is correct"},
    {"SHEAF_LLVM_PLUGIN", "beside the library, or in ../lib",
     "absolute path of the code generator that is opened at first need"},
    {"SHEAF_SHAPES", "automatic",
     "which calls share a kernel, for programs that leave it open: automatic, classes or exact (docs/shapes.md)"},
    {"SHEAF_TARGET", "this processor", "processor to generate code for, such as x86-64-v3"},
    {"SHEAF_CUDA", "libcuda.so.1", "name or absolute path of the GPU driver that is opened at first need"},
    {"SHEAF_NVRTC", "the newest of libnvrtc.so.13 and .12 that the driver can use",
     "name or absolute path of the compiler for GPUs that is opened at first need"},
    {"SHEAF_SYMBOLS", "off",
     "who is told the names of kernels: perf (in /tmp/perf-PID.map), jitdump (with their code, in /tmp/jit-PID.dump), "
     "gdb (by its JIT interface, with lines of kernel IR in /tmp/sheaf-PID-*), on (perf and gdb) or off"},
    {"SHEAF_VERIFY", "on in debug builds", "verify the plan and the kernel IR after every pass: on or off"},
};

enum class cache_use { off, read, on };
enum class symbol_use { off, perf, jitdump, gdb, on };

// So many, of so many bytes in all.
struct limit {
  std::int64_t count = INT64_MAX, bytes = INT64_MAX;
  bool is_passed_by(std::int64_t n, std::int64_t size) const { return n > count || size > bytes; }
};

struct settings {
  int debug = 0;
  int threads = 1;
  cache_use cache = cache_use::on;
  limit cache_limit, program_limit, process_limit;
  std::int64_t workspace_limit = INT64_MAX, array_limit = INT64_MAX;
  std::string cache_dir;  // empty where there is no home to keep one in: then the cache is off
  std::string backend = "llvm";
  std::string shapes = "automatic";
  std::string llvm_plugin;  // empty: the default place
  std::string target;       // empty: this processor
  std::string cuda, nvrtc;  // empty: the system's
  bool verify = false;
  symbol_use symbols = symbol_use::off;
};

// Null for a variable that is not set.
using setting_source = const char* (*)(const char* name);

// Throws code::bad_setting for a value that is not in the table's words. An empty value counts as not set.
settings read_settings(setting_source source);

// The environment, read once, at the first call.
const settings& current_settings();

// See set_setting and set_log_sink in host.hpp.
void set_own_setting(const char* name, const char* value);
void set_log(void (*write)(void* context, int level, const char* line), void* context);

// The table as Markdown, for the documentation.
std::string settings_table();

// One line on stderr where SHEAF_DEBUG is at least level.
void debug_line(int level, const std::string& words);

}  // namespace sheaf::inline v0_1::runtime
