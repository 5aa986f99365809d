#include <sheaf/jit/cuda/code.hpp>

#include <chrono>
#include <iterator>
#include <mutex>
#include <unordered_map>

#include <sheaf/jit/cuda/emit.hpp>
#include <sheaf/runtime/cuda/nvrtc.hpp>
#include <sheaf/runtime/fail.hpp>
#include <sheaf/runtime/kernel_cache.hpp>

namespace sheaf::jit {

namespace {

namespace device = runtime::cuda;
using clock = std::chrono::steady_clock;
using loaded = std::shared_ptr<const device::loaded_module>;

struct memory_cache {
  std::mutex lock;
  std::unordered_map<std::string, std::weak_ptr<const device::loaded_module>> entries;
};

// Changes with the generator, the compiler, its options and the architecture. The text itself is the rest of a key.
std::string key_prefix(const device::device_context& where) {
  std::string key = "sheaf gpu code " + std::to_string(SHEAF_CUDA_FINGERPRINT) + "\n" +
                    device::compiler_identity(device::driver().version) + "\n";
  for (const char* option : cuda::compile_options) key += std::string(option) + " ";
  return key + where.about().architecture() + "\n";
}

loaded from_disk(device::device_context& where, const std::string& key) {
  const auto bytes = runtime::default_kernel_cache().find(key);
  if (!bytes) return nullptr;
  try {
    return std::make_shared<const device::loaded_module>(where, *bytes);
  } catch (const error& e) {
    runtime::debug_line(1, std::string("a cached kernel is built anew: ") + e.what());
    return nullptr;
  }
}

loaded generated(device::device_context& where, const std::string& key, const std::string& text,
                 const std::string& name) {
  const auto start = clock::now();
  const auto cubin = device::compile_source(text, name + ".cu", where.about().architecture(),
                                            {std::begin(cuda::compile_options), std::end(cuda::compile_options)},
                                            device::driver().version);
  auto made = std::make_shared<const device::loaded_module>(where, cubin);
  runtime::default_kernel_cache().store(key, cubin.data(), cubin.size());
  const double ms = std::chrono::duration<double, std::milli>(clock::now() - start).count();
  runtime::debug_line(
      2, "compiled " + name + " for " + where.about().architecture() + " in " + std::to_string(ms) + " ms");
  return made;
}

}  // namespace

loaded code_on(device::device_context& where, const std::string& text, const std::string& name) {
  static memory_cache& memory = *new memory_cache;
  const std::string key = key_prefix(where) + text;
  const std::string own = std::to_string(where.about().ordinal) + "\n" + key;
  const std::lock_guard lock(memory.lock);
  if (const auto found = memory.entries.find(own); found != memory.entries.end())
    if (auto alive = found->second.lock()) return alive;
  auto made = from_disk(where, key);
  if (made == nullptr) made = generated(where, key, text, name);
  memory.entries[own] = made;
  return made;
}

}  // namespace sheaf::jit
