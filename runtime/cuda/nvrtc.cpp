#include <sheaf/runtime/cuda/nvrtc.hpp>

#include <sys/stat.h>

#include <algorithm>
#include <mutex>

#include <sheaf/runtime/cuda/driver.hpp>
#include <sheaf/runtime/cuda/library.hpp>
#include <sheaf/runtime/fail.hpp>
#include <sheaf/runtime/settings.hpp>

namespace sheaf::inline v0_1::runtime::cuda {

namespace {

using program = struct program_handle*;

#define SHEAF_NVRTC_CALLS(CALL)                                                                                       \
  CALL(version, "nvrtcVersion", int*, int*)                                                                           \
  CALL(architecture_count, "nvrtcGetNumSupportedArchs", int*)                                                         \
  CALL(architectures, "nvrtcGetSupportedArchs", int*)                                                                 \
  CALL(create, "nvrtcCreateProgram", program*, const char*, const char*, int, const char* const*, const char* const*) \
  CALL(destroy, "nvrtcDestroyProgram", program*)                                                                      \
  CALL(compile, "nvrtcCompileProgram", program, int, const char* const*)                                              \
  CALL(log_size, "nvrtcGetProgramLogSize", program, std::size_t*)                                                     \
  CALL(log, "nvrtcGetProgramLog", program, char*)                                                                     \
  CALL(cubin_size, "nvrtcGetCUBINSize", program, std::size_t*)                                                        \
  CALL(cubin, "nvrtcGetCUBIN", program, char*)                                                                        \
  CALL(ptx_size, "nvrtcGetPTXSize", program, std::size_t*)                                                            \
  CALL(ptx, "nvrtcGetPTX", program, char*)

template <class... A>
struct call {
  const char* name = nullptr;
  status (*raw)(A...) = nullptr;
};

struct compiler {
#define SHEAF_FIELD(field, symbol, ...) call<__VA_ARGS__> field;
  SHEAF_NVRTC_CALLS(SHEAF_FIELD)
#undef SHEAF_FIELD
  const char* (*words)(status) = nullptr;
  std::string path;
  int major = 0, minor = 0;

  template <class... A, class... B>
  void operator()(const call<A...>& made, B... arguments) const {
    if (const status found = made.raw(arguments...); found != 0)
      fail(code::codegen_failed, made.name, "success", words_of(found));
  }
  std::string words_of(status found) const { return std::string(words(found)) + " (" + std::to_string(found) + ")"; }
  std::string version_words() const { return std::to_string(major) + "." + std::to_string(minor); }
};

template <class... A>
void bind(call<A...>& to, const char* symbol, const opened_library& library) {
  to = {symbol, reinterpret_cast<status (*)(A...)>(symbol_of(library, symbol))};
}

compiler bind_all(const opened_library& library) {
  compiler c;
#define SHEAF_BIND(field, symbol, ...) bind(c.field, symbol, library);
  SHEAF_NVRTC_CALLS(SHEAF_BIND)
#undef SHEAF_BIND
  c.words = reinterpret_cast<const char* (*)(status)>(symbol_of(library, "nvrtcGetErrorString"));
  c.path = library.path;
  c(c.version, &c.major, &c.minor);
  return c;
}

// The setting alone where it is given; else one that the process has open already, or where the toolkit usually
// stands, or where the system looks: of the newest that the driver can load the code of.
std::vector<std::string> candidates(int driver_version) {
  const std::string& chosen = current_settings().nvrtc;
  if (!chosen.empty()) return {chosen};
  std::vector<std::string> names;
  for (const char* major : {"13", "12"}) {
    if (driver_version != 0 && std::string(major) > std::to_string(driver_version / 1000)) continue;
    const std::string name = std::string("libnvrtc.so.") + major;
    if (is_open(name)) names.push_back(name);
    for (const char* folder : {"/usr/local/cuda/lib64/", "/opt/cuda/lib64/", ""}) names.push_back(folder + name);
  }
  return names;
}

const compiler& nvrtc(int driver_version) {
  static std::mutex opening;
  static const compiler* opened = nullptr;  // never freed: NVRTC has threads of its own
  const std::lock_guard lock(opening);
  if (opened == nullptr)
    opened = new compiler(bind_all(open_library(
        candidates(driver_version), "NVRTC, libnvrtc.so.12 or .13 (the setting SHEAF_NVRTC names another path)")));
  if (driver_version != 0 && opened->major > driver_version / 1000)
    fail(code::device_failed, "compile for a GPU",
         "a driver of CUDA " + std::to_string(opened->major) + ".0 or newer, as " + opened->path,
         "one of CUDA " + version_text(driver_version));
  return *opened;
}

std::vector<std::string> architectures_of(const compiler& c) {
  int count = 0;
  c(c.architecture_count, &count);
  std::vector<int> numbers(static_cast<std::size_t>(count));
  c(c.architectures, numbers.data());
  std::vector<std::string> names;
  for (const int n : numbers) names.push_back("sm_" + std::to_string(n));
  return names;
}

class owned_program {
 public:
  owned_program(const compiler& c, const std::string& source, const std::string& name) : c_(c) {
    c(c.create, &made, source.c_str(), name.c_str(), 0, nullptr, nullptr);
  }
  ~owned_program() { c_.destroy.raw(&made); }
  owned_program(const owned_program&) = delete;

  std::string log() const {
    std::size_t size = 0;
    if (c_.log_size.raw(made, &size) != 0 || size == 0) return "";
    std::string text(size, '\0');
    if (c_.log.raw(made, text.data()) != 0) return "";
    text.resize(text.find('\0') == std::string::npos ? size : text.find('\0'));
    return text;
  }

  program made = nullptr;

 private:
  const compiler& c_;
};

}  // namespace

std::string compiler_version(int driver_version) {
  const compiler& c = nvrtc(driver_version);
  return c.version_words() + " " + c.path;
}

std::string compiler_identity(int driver_version) {
  for (const std::string& name : candidates(driver_version)) {
    if (name.find('/') == std::string::npos) {
      if (is_open(name)) break;
      continue;
    }
    struct stat file;
    if (stat(name.c_str(), &file) == 0)
      return name + " " + std::to_string(file.st_size) + " " + std::to_string(file.st_mtim.tv_sec) + "." +
             std::to_string(file.st_mtim.tv_nsec);
  }
  return compiler_version(driver_version);
}

std::vector<std::string> known_architectures() { return architectures_of(nvrtc(0)); }

std::vector<unsigned char> compile_source(const std::string& source, const std::string& name,
                                          const std::string& architecture, std::vector<const char*> options,
                                          int driver_version, std::vector<unsigned char>* ptx) {
  const compiler& c = nvrtc(driver_version);
  const std::vector<std::string> known = architectures_of(c);
  const std::string generation = architecture.substr(0, architecture.find('a'));  // of "sm_90a"
  if (std::find(known.begin(), known.end(), generation) == known.end())
    fail(code::unsupported, "compile for a GPU",
         "an architecture that NVRTC " + c.version_words() + " knows (" + known.front() + " to " + known.back() + ")",
         architecture);
  const std::string target = "--gpu-architecture=" + architecture;
  options.push_back(target.c_str());
  const owned_program program(c, source, name);
  if (const status found = c.compile.raw(program.made, static_cast<int>(options.size()), options.data()); found != 0) {
    const std::string log = program.log();  // quotes the lines that it speaks of
    fail(code::codegen_failed, "nvrtcCompileProgram of " + name + " for " + architecture, "code",
         c.words_of(found) + (log.empty() ? "" : "\n" + log));
  }
  if (current_settings().debug >= 4) debug_line(4, "NVRTC's log\n" + program.log());
  std::size_t size = 0;
  c(c.cubin_size, program.made, &size);
  if (size == 0) fail(code::codegen_failed, "nvrtcGetCUBINSize", "machine code for " + architecture, "none");
  std::vector<unsigned char> bytes(size);
  c(c.cubin, program.made, reinterpret_cast<char*>(bytes.data()));
  if (ptx != nullptr) {
    c(c.ptx_size, program.made, &size);
    ptx->resize(size);
    c(c.ptx, program.made, reinterpret_cast<char*>(ptx->data()));
  }
  return bytes;
}

}  // namespace sheaf::inline v0_1::runtime::cuda
