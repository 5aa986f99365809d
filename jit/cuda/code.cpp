#include <sheaf/jit/cuda/code.hpp>

#include <chrono>
#include <future>
#include <iterator>
#include <mutex>
#include <unordered_map>

#include <sheaf/jit/cuda/emit.hpp>
#include <sheaf/runtime/cuda/nvrtc.hpp>
#include <sheaf/runtime/fail.hpp>
#include <sheaf/jit/engine/codegen.hpp>
#include <sheaf/runtime/kernel_cache.hpp>

namespace sheaf::inline v0_1::jit {

namespace {

namespace device = runtime::cuda;
using clock = std::chrono::steady_clock;

struct memory_cache {
  std::mutex lock;
  std::unordered_map<std::string, std::weak_ptr<const device::loaded_module>> entries;
};

// Changes with the generator, the compiler, its options and the architecture. The text itself is the rest of a key.
std::string key_prefix(const device::device_context& where) {
  std::string key = "sheaf gpu code " + std::to_string(SHEAF_CUDA_FINGERPRINT) + "\n" +
                    device::compiler_identity(device::driver().version) + "\n";
  for (const char* option : cuda::compile_options) key += std::string(option) + " ";
  return key + where.about().code_architecture() + "\n";
}

device_code from_disk(device::device_context& where, const std::string& key) {
  const auto bytes = runtime::default_kernel_cache().find(key);
  if (!bytes) return nullptr;
  try {
    return std::make_shared<const device::loaded_module>(where, *bytes);
  } catch (const error& e) {
    runtime::debug_line(1, std::string("a cached kernel is built anew: ") + e.what());
    return nullptr;
  }
}

std::vector<unsigned char> compiled(device::device_context& where, const std::string& text, const std::string& name) {
  const auto start = clock::now();
  auto cubin = device::compile_source(text, name + ".cu", where.about().code_architecture(),
                                      {std::begin(cuda::compile_options), std::end(cuda::compile_options)},
                                      device::driver().version);
  const double ms = std::chrono::duration<double, std::milli>(clock::now() - start).count();
  runtime::debug_line(
      2, "compiled " + name + " for " + where.about().code_architecture() + " in " + std::to_string(ms) + " ms");
  return cubin;
}

}  // namespace

std::vector<device_code> code_on(device::device_context& where, const std::vector<std::string>& texts,
                                 const std::string& name) {
  static memory_cache& memory = *new memory_cache;
  const std::string prefix = key_prefix(where), own = std::to_string(where.about().ordinal) + "\n";
  const std::lock_guard lock(memory.lock);
  std::vector<device_code> found(texts.size());
  std::vector<std::future<std::vector<unsigned char>>> made(texts.size());
  for (std::size_t n = 0; n < texts.size(); ++n) {
    const std::string key = prefix + texts[n];
    if (const auto known = memory.entries.find(own + key); known != memory.entries.end())
      found[n] = known->second.lock();
    counted().from_memory += found[n] != nullptr;
    if (found[n] == nullptr) {
      found[n] = from_disk(where, key);
      counted().from_disk += found[n] != nullptr;
    }
    if (found[n] == nullptr)
      made[n] = std::async(std::launch::async, [&, n] { return compiled(where, texts[n], name); });
  }
  for (std::size_t n = 0; n < texts.size(); ++n) {
    const std::string key = prefix + texts[n];
    if (found[n] == nullptr) {
      const auto cubin = made[n].get();
      found[n] = std::make_shared<const device::loaded_module>(where, cubin);
      runtime::default_kernel_cache().store(key, cubin.data(), cubin.size());
      ++counted().compiled;
    }
    memory.entries[own + key] = found[n];
  }
  return found;
}

}  // namespace sheaf::inline v0_1::jit
