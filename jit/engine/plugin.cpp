#include <sheaf/jit/engine/plugin.hpp>

#include <dlfcn.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>

#include <sheaf/jit/engine/background.hpp>
#include <sheaf/jit/engine/listing.hpp>
#include <sheaf/jit/engine/own_places.hpp>
#include <sheaf/jit/llvm/plugin.h>
#include <sheaf/runtime/fail.hpp>
#include <sheaf/runtime/settings.hpp>
#include <sheaf/runtime/trust.hpp>

namespace sheaf::inline v0_1::jit {

namespace {

constexpr const char* file_name = "libsheaf_llvm.so";

struct plugin {
  sheaf_llvm_compile_fn compile = nullptr;
  void (*release)(sheaf_llvm_result*) = nullptr;
};

// What was said before the plug-in was opened, and what was opened; promised until the process ends, for kernels may be
// made while static objects die.
struct search {
  std::mutex lock;
  std::string chosen;  // by set_code_generator
  plugin opened;
};
search& the_search() {
  static search& once = *new search;
  return once;
}

// Opens one file, or says why not.
std::string why_not(const std::string& path, plugin& opened) {
  if (access(path.c_str(), F_OK) != 0 && errno == ENOENT) return "no " + path;
  // A link may point elsewhere by the time it is opened: what was looked at is what is opened.
  const std::unique_ptr<char, decltype(&std::free)> real(realpath(path.c_str(), nullptr), &std::free);
  if (real == nullptr) return path + ": " + std::strerror(errno);
  if (std::string others = runtime::others_of_file(real.get()); !others.empty()) return others;
  void* handle = dlopen(real.get(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return dlerror();
  const auto version = reinterpret_cast<int32_t (*)()>(dlsym(handle, "sheaf_llvm_version"));
  if (version == nullptr || version() != SHEAF_LLVM_VERSION) {
    const std::string found = version == nullptr ? "no version" : "version " + std::to_string(version());
    dlclose(handle);
    return path + " has " + found;
  }
  opened = {reinterpret_cast<sheaf_llvm_compile_fn>(dlsym(handle, "sheaf_llvm_compile")),
            reinterpret_cast<void (*)(sheaf_llvm_result*)>(dlsym(handle, "sheaf_llvm_free"))};
  return "";
}

[[noreturn]] void fail_search(const std::string& found) {
  runtime::fail(code::codegen_unavailable, "opening the code generator",
                std::string(file_name) + " of version " + std::to_string(SHEAF_LLVM_VERSION) +
                    " (SHEAF_LLVM_PLUGIN or set_code_generator names one)",
                found);
}

// One that the program names is taken or nothing; one that the settings name, too, unless it is of another version: two
// libraries of a process may each have a Sheaf, with one setting for both.
plugin open_plugin(const std::string& chosen) {
  plugin opened;
  std::string tried;
  const auto fits = [&](const std::string& path) {
    const std::string why = why_not(path, opened);
    if (!why.empty()) tried += (tried.empty() ? "" : "; ") + why;
    return why.empty();
  };
  if (!chosen.empty()) {
    if (!fits(chosen)) fail_search(tried);
    return opened;
  }
  if (const std::string& set = runtime::current_settings().llvm_plugin; !set.empty()) {
    if (fits(set)) return opened;
    if (tried.find(set + " has ") != 0) fail_search(tried);
  }
  for (const std::string& folder : own_places())
    if (fits(folder + "/" + file_name)) return opened;
  fail_search(tried);
}

const plugin& the_plugin() {
  search& s = the_search();
  const std::lock_guard guard(s.lock);
  if (s.opened.compile == nullptr) {
    s.opened = open_plugin(s.chosen);
    background::join_at_exit();  // before the plug-in's static objects die
  }
  return s.opened;
}

}  // namespace

void choose_plugin(const std::string& chosen) {
  if (!chosen.empty() && !chosen.starts_with('/'))
    runtime::fail(code::bad_argument, "set_code_generator", "an absolute path", "\"" + chosen + "\"");
  search& s = the_search();
  const std::lock_guard guard(s.lock);
  if (s.opened.compile != nullptr)
    runtime::fail(code::bad_argument, "set_code_generator", "a call before the first kernel is compiled",
                  "one after it");
  s.chosen = chosen;
}

std::vector<unsigned char> generate_object(const ir::module& module, const std::string& target, bool strict) {
  const plugin& llvm = the_plugin();
  sheaf_llvm_options options{};
  options.cpu = target.empty() ? nullptr : target.c_str();
  options.level = 2;
  options.strict = strict;
  options.verify = runtime::current_settings().verify;
  options.want_ir = runtime::current_settings().debug >= 4;
  options.want_asm = runtime::current_settings().debug >= 5;
  const std::optional<ir::listing> listing = listing_for(module);
  options.listing = listing ? &*listing : nullptr;
  sheaf_llvm_result result{};
  const int32_t status = llvm.compile(&module, &options, &result);
  const bool failed = status != SHEAF_LLVM_DONE;
  const std::string words = failed && result.error != nullptr ? result.error : "";
  std::vector<unsigned char> object;
  if (!failed) object.assign(result.object, result.object + result.object_size);
  if (result.ir_text != nullptr) runtime::debug_line(4, std::string("LLVM IR\n") + result.ir_text);
  if (result.asm_text != nullptr) runtime::debug_line(5, std::string("assembly\n") + result.asm_text);
  llvm.release(&result);
  if (status == SHEAF_LLVM_CANNOT)
    runtime::fail(code::unsupported, "determinism::strict", "a processor with fused multiply-add", words);
  if (failed) runtime::fail(code::codegen_failed, "compiling " + module.name, "code", words);
  return object;
}

}  // namespace sheaf::inline v0_1::jit
