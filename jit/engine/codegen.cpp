#include <sheaf/jit/engine/codegen.hpp>

#include <chrono>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include <sheaf/jit/engine/plugin.hpp>
#include <sheaf/jit/ir/verify.hpp>
#include <sheaf/jit/target/target.hpp>
#include <sheaf/runtime/fail.hpp>
#include <sheaf/runtime/kernel_cache.hpp>

namespace sheaf::inline v0_1::jit {

namespace {

// Changes with the sources of the generator: the same IR text may then mean other code.
const std::string codegen_version = "sheaf code " + std::to_string(SHEAF_CODEGEN_FINGERPRINT);

using clock = std::chrono::steady_clock;

std::shared_ptr<const loaded_code> loaded(const std::vector<unsigned char>& object, const std::string& name) {
  auto made = std::make_shared<loaded_code>();
  made->object = runtime::load_object(object.data(), object.size());
  made->entry = reinterpret_cast<sheaf_entry>(made->object.find(name.c_str()));
  if (made->entry == nullptr) runtime::fail(code::bad_object, "loading a kernel", "the symbol " + name, "none");
  return made;
}

std::shared_ptr<const loaded_code> from_disk(const std::string& key, const std::string& name) {
  const auto bytes = runtime::default_kernel_cache().find(key);
  if (!bytes) return nullptr;
  try {
    return loaded(*bytes, name);
  } catch (const error& e) {
    runtime::debug_line(1, std::string("a cached kernel is built anew: ") + e.what());
    return nullptr;
  }
}

std::shared_ptr<const loaded_code> generated(const ir::module& module, const std::string& key,
                                             const options& overrides) {
  const auto start = clock::now();
  // microseconds, beside the milliseconds of LLVM, which ends the process where its own rules are broken
  ir::verify(module);
  const auto object = generate_object(module, target_of(overrides), overrides.determinism == determinism::strict);
  auto made = loaded(object, module.name);
  runtime::default_kernel_cache().store(key, object.data(), object.size());
  const double ms = std::chrono::duration<double, std::milli>(clock::now() - start).count();
  runtime::debug_line(2, "compiled " + module.name + " in " + std::to_string(ms) + " ms");
  return made;
}

struct memory_cache {
  std::mutex lock;
  std::unordered_map<std::string, std::weak_ptr<const loaded_code>> entries;
};

}  // namespace

code_counts& counted() {
  static thread_local code_counts counts;
  return counts;
}

runtime::cache_state disk_cache_state(const char*& sentence) {
  // Sentences outlive their program; there are as many as states.
  static std::mutex lock;
  static std::unordered_set<std::string>& said = *new std::unordered_set<std::string>;
  std::string others;
  const runtime::kernel_cache& cache = runtime::default_kernel_cache();
  const runtime::cache_state state = cache.state(&others);
  const char* const words[] = {"off", "read, never written", "on", "not used"};
  std::string text = std::string("kernel cache: ") + words[static_cast<int>(state)];
  if (state != runtime::cache_state::off) text += ": " + (others.empty() ? cache.folder() : others);
  const std::lock_guard guard(lock);
  sentence = said.insert(text).first->c_str();
  return state;
}

std::string target_of(const options& overrides) {
  return overrides.target != nullptr ? overrides.target : runtime::current_settings().target;
}

std::shared_ptr<const loaded_code> code_for(const ir::module& module, const std::string& text,
                                            const options& overrides) {
  static memory_cache memory;
  static const std::string here = target::key_of_this();
  const std::string named = target_of(overrides);
  const std::string key = codegen_version + "\n" + (named.empty() ? here : named) +
                          (overrides.determinism == determinism::strict ? " strict\n" : "\n") + text;
  const std::lock_guard lock(memory.lock);
  if (const auto found = memory.entries.find(key); found != memory.entries.end())
    if (auto alive = found->second.lock()) {
      ++counted().from_memory;
      return alive;
    }
  auto made = from_disk(key, module.name);
  if (made != nullptr) ++counted().from_disk;
  if (made == nullptr) {
    made = generated(module, key, overrides);
    ++counted().compiled;
  }
  memory.entries[key] = made;
  return made;
}

}  // namespace sheaf::inline v0_1::jit
