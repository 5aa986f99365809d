#include <sheaf/jit/engine/plugin.hpp>

#include <dlfcn.h>

#include <sheaf/jit/llvm/plugin.h>
#include <sheaf/runtime/fail.hpp>
#include <sheaf/runtime/settings.hpp>

namespace sheaf::jit {

namespace {

struct plugin {
  sheaf_llvm_compile_fn compile = nullptr;
  void (*release)(sheaf_llvm_result*) = nullptr;
};

std::string folder_of_this_library() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&generate_object), &info) == 0 || info.dli_fname == nullptr) return "";
  const std::string path = info.dli_fname;
  return path.substr(0, path.rfind('/') + 1);
}

// The setting alone where it is given; else beside the library or program, where CMake built it, where it was installed,
// and where the system looks.
std::vector<std::string> candidates() {
  const std::string& chosen = runtime::current_settings().llvm_plugin;
  if (!chosen.empty()) return {chosen};
  return {folder_of_this_library() + "libsheaf_llvm.so",
#ifdef SHEAF_LLVM_PLUGIN_DEFAULT
          SHEAF_LLVM_PLUGIN_DEFAULT, SHEAF_LLVM_PLUGIN_INSTALLED,
#endif
          "libsheaf_llvm.so"};
}

plugin open_plugin() {
  std::string tried;
  for (const std::string& path : candidates()) {
    void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      tried += (tried.empty() ? "" : "; ") + std::string(dlerror());
      continue;
    }
    const auto version = reinterpret_cast<int32_t (*)()>(dlsym(handle, "sheaf_llvm_version"));
    if (version == nullptr || version() != SHEAF_LLVM_VERSION)
      runtime::fail(code::codegen_unavailable, "opening " + path, "version " + std::to_string(SHEAF_LLVM_VERSION) + " of the code generator",
                    version == nullptr ? "none" : std::to_string(version()));
    return {reinterpret_cast<sheaf_llvm_compile_fn>(dlsym(handle, "sheaf_llvm_compile")),
            reinterpret_cast<void (*)(sheaf_llvm_result*)>(dlsym(handle, "sheaf_llvm_free"))};
  }
  runtime::fail(code::codegen_unavailable, "opening the code generator", "libsheaf_llvm.so (set SHEAF_LLVM_PLUGIN to its path)", tried);
}

}  // namespace

std::vector<unsigned char> generate_object(const ir::module& module, const std::string& target, bool strict) {
  static const plugin llvm = open_plugin();
  sheaf_llvm_options options{};
  options.cpu = target.empty() ? nullptr : target.c_str();
  options.level = 2;
  options.strict = strict;
  options.verify = runtime::current_settings().verify;
  options.want_ir = runtime::current_settings().debug >= 4;
  options.want_asm = runtime::current_settings().debug >= 5;
  sheaf_llvm_result result{};
  const int32_t status = llvm.compile(&module, &options, &result);
  const bool failed = status != SHEAF_LLVM_DONE;
  const std::string words = failed && result.error != nullptr ? result.error : "";
  std::vector<unsigned char> object;
  if (!failed) object.assign(result.object, result.object + result.object_size);
  if (result.ir_text != nullptr) runtime::debug_line(4, std::string("LLVM IR\n") + result.ir_text);
  if (result.asm_text != nullptr) runtime::debug_line(5, std::string("assembly\n") + result.asm_text);
  llvm.release(&result);
  if (status == SHEAF_LLVM_CANNOT) runtime::fail(code::unsupported, "determinism::strict", "a processor with fused multiply-add", words);
  if (failed) runtime::fail(code::codegen_failed, "compiling " + module.name, "code", words);
  return object;
}

}  // namespace sheaf::jit
