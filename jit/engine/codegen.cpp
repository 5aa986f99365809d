#include <sheaf/jit/engine/codegen.hpp>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <random>
#include <unordered_map>
#include <unordered_set>

#include <sheaf/jit/engine/listing.hpp>
#include <sheaf/jit/engine/plugin.hpp>
#include <sheaf/jit/ir/verify.hpp>
#include <sheaf/jit/target/target.hpp>
#include <sheaf/runtime/fail.hpp>
#include <sheaf/runtime/hash.hpp>
#include <sheaf/runtime/kernel_cache.hpp>

namespace sheaf::inline v0_1::jit {

namespace {

// Changes with the sources of the generator: the same IR text may then mean other code.
const std::string codegen_version = "sheaf code " + std::to_string(SHEAF_CODEGEN_FINGERPRINT);

using clock = std::chrono::steady_clock;

loaded_code loaded(const std::vector<unsigned char>& object, const std::string& name) {
  loaded_code made;
  made.object = runtime::load_object(object.data(), object.size());
  made.entry = reinterpret_cast<sheaf_entry>(made.object.find(name.c_str()));
  if (made.entry == nullptr) runtime::fail(code::bad_object, "loading a kernel", "the symbol " + name, "none");
  return made;
}

std::optional<loaded_code> from_disk(const std::string& key, const std::string& name) {
  if (lists_kernels()) return std::nullopt;
  const auto bytes = runtime::default_kernel_cache().find(key);
  if (!bytes) return std::nullopt;
  try {
    return loaded(*bytes, name);
  } catch (const error& e) {
    runtime::debug_line(1, std::string("a cached kernel is built anew: ") + e.what());
    return std::nullopt;
  }
}

loaded_code generated(const ir::module& module, const std::string& key, const options& overrides) {
  const auto start = clock::now();
  // microseconds, beside the milliseconds of LLVM, which ends the process where its own rules are broken
  ir::verify(module);
  const auto object = generate_object(module, target_of(overrides), overrides.determinism == determinism::strict);
  auto made = loaded(object, module.name);
  if (!lists_kernels()) runtime::default_kernel_cache().store(key, object.data(), object.size());
  const double ms = std::chrono::duration<double, std::milli>(clock::now() - start).count();
  runtime::debug_line(2, "compiled " + module.name + " in " + std::to_string(ms) + " ms");
  return made;
}

// What there is of the code of one text: nothing, a thread that makes it, or code.
struct made_code {
  std::weak_ptr<const loaded_code> code;
  int makers = 0;  // threads that make it, or wait for the one that does
  bool is_made = false;
};

// Code in use, by a hash of its text that nobody can foresee: a text with a hash of another's can't be thought out.
// Never destroyed: kernels may be given up while static objects die.
struct memory_cache {
  std::mutex lock;
  std::condition_variable changed;
  std::uint64_t secret[2];
  std::unordered_map<std::string, made_code> entries;

  memory_cache() {
    std::random_device random;
    for (std::uint64_t& s : secret) s = std::uint64_t{random()} << 32 | random();
  }
  static memory_cache& the() {
    static memory_cache& once = *new memory_cache;
    return once;
  }
  std::string name_of(const std::string& key) const {
    const std::string text = std::string(reinterpret_cast<const char*>(secret), sizeof secret) + key;
    return runtime::hex_of(runtime::hash_bytes(text.data(), text.size()));
  }
  // Its last owner let go of it; by then there may be another one.
  void forget(const std::string& name) {
    const std::lock_guard guard(lock);
    const auto at = entries.find(name);
    if (at != entries.end() && at->second.makers == 0 && at->second.code.expired()) entries.erase(at);
  }
};

// One thread makes the code of a text, others that want it wait; who wants another text does not.
template <class Make>
std::shared_ptr<const loaded_code> shared_code(const std::string& key, Make make) {
  memory_cache& memory = memory_cache::the();
  const std::string name = memory.name_of(key);
  std::unique_lock lock(memory.lock);
  made_code& own = memory.entries[name];  // stays where it is while somebody makes it
  ++own.makers;
  memory.changed.wait(lock, [&] { return !own.is_made; });
  if (auto alive = own.code.lock()) {
    --own.makers;
    ++counted().from_memory;
    return alive;
  }
  own.is_made = true;
  lock.unlock();
  std::shared_ptr<const loaded_code> made;
  const auto done = [&] {
    lock.lock();
    own.code = made;
    own.is_made = false;
    if (--own.makers == 0 && made == nullptr) memory.entries.erase(name);
    memory.changed.notify_all();
  };
  try {
    loaded_code code = make();
    made = std::shared_ptr<const loaded_code>(new loaded_code(std::move(code)), [name](const loaded_code* gone) {
      delete gone;
      memory_cache::the().forget(name);
    });
  } catch (...) {
    done();
    throw;
  }
  done();
  return made;
}

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
  static const std::string here = target::key_of_this();
  const std::string named = target_of(overrides);
  const std::string key = codegen_version + "\n" + (named.empty() ? here : named) +
                          (overrides.determinism == determinism::strict ? " strict\n" : "\n") + text;
  return shared_code(key, [&] {
    if (auto found = from_disk(key, module.name)) {
      ++counted().from_disk;
      return std::move(*found);
    }
    loaded_code made = generated(module, key, overrides);
    ++counted().compiled;
    return made;
  });
}

}  // namespace sheaf::inline v0_1::jit
