// Runs compiled kernels: plans for a class of arguments, finds code, and calls it with workspace of the calling thread.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <stdexcept>

#include <sheaf/jit/engine/codegen.hpp>
#include <sheaf/jit/engine/failure.hpp>
#include <sheaf/jit/engine/runner.hpp>
#include <sheaf/jit/ir/print.hpp>
#include <sheaf/jit/ir/verify.hpp>
#include <sheaf/runtime/fail.hpp>
#include <sheaf/runtime/settings.hpp>
#include <sheaf/runtime/thread_pool.hpp>

namespace sheaf::jit {

namespace {

constexpr std::size_t alignment = 64;
constexpr std::int64_t most_bytes = std::int64_t{1} << 62;

// Workspace that a thread keeps between calls.
class arena {
 public:
  ~arena() { std::free(memory_); }
  char* at_least(std::size_t bytes) {
    if (bytes > size_) {
      std::free(memory_);
      size_ = (bytes + alignment - 1) / alignment * alignment;
      memory_ = static_cast<char*>(std::aligned_alloc(alignment, size_));
      if (memory_ == nullptr) {
        size_ = 0;
        runtime::fail(code::out_of_memory, "workspace of a call", std::to_string(bytes) + " bytes", "no memory");
      }
    }
    return memory_;
  }

 private:
  char* memory_ = nullptr;
  std::size_t size_ = 0;
};

// Bytes of the cache that cores share; 0 where nobody says. (sysconf counts those of all sockets.)
double last_cache() {
  double size = 0;
  char unit = 0;
  std::ifstream("/sys/devices/system/cpu/cpu0/cache/index3/size") >> size >> unit;
  return size * (unit == 'K' ? 1024 : unit == 'M' ? 1024 * 1024 : 1);
}

plan::call_facts facts_of(const call_class& a) {
  plan::call_facts seen;
  for (std::size_t i = 0; i < a.input_extents.size(); ++i) seen.inputs.push_back({a.input_extents[i], a.unit_inputs[i]});
  seen.unit_outputs = a.unit_outputs;
  // A quarter of the last cache by the threads: others use it too, and what comes in next drives out what is there.
  static const double last = last_cache();
  if (last > 0) seen.cache_share = std::min(seen.cache_share, last / 4 / std::max(1, current_parallel_hook().threads));
  return seen;
}

std::int64_t closed_value(const plan::facts& known, node_id e) {
  const auto value = known.value(e);
  if (!value) runtime::fail(code::broken_invariant, "workspace of a call", "extents that do not depend on data", "one that does");
  return *value;
}

class native_runner final : public runner {
 public:
  native_runner(const graph& g, const call_class& arguments)
      : planned_(plan_program(g, facts_of(arguments), "sheaf_program")), text_(ir::print(planned_.code)) {
    if (runtime::current_settings().verify) ir::verify(planned_.code);
    runtime::debug_line(3, "plan\n" + planned_.text);
    runtime::debug_line(3, "kernel IR\n" + text_);
    const plan::facts known(planned_.g, facts_of(arguments));
    check_uniform(known, arguments);
    lay_out(known);
    code_ = code_for(planned_.code, text_);
    given_ = static_cast<std::size_t>(g.inputs.size() + g.outputs.size());
  }

  void run(const sheaf_tensor* tensors) const override {
    sheaf_tensor few[16];
    std::vector<sheaf_tensor> many;
    const std::size_t slots = given_ + own_.size();
    if (slots > 16) many.resize(slots);
    sheaf_tensor* all = slots > 16 ? many.data() : few;
    std::memcpy(all, tensors, given_ * sizeof(sheaf_tensor));
    if (!own_.empty()) {
      static thread_local arena memory;
      char* base = memory.at_least(bytes_);
      for (std::size_t k = 0; k < own_.size(); ++k)
        all[given_ + k] = {base + own_[k].offset, own_[k].extents.data(), own_[k].strides.data()};
    }
    const parallel_hook hook = current_parallel_hook();
    sheaf_failure failure{};
    const sheaf_call call{all, hook.run, hook.pool, &failure};
    if (code_->entry(&call) != SHEAF_OK) fail_from(failure, tensors);
  }
  const std::string& plan() const override { return planned_.text; }
  const std::string& ir() const override { return text_; }

 private:
  // A workspace array or a check result: where it lies in the arena.
  struct own_array {
    std::size_t offset = 0;
    std::vector<std::int64_t> extents, strides;
  };

  void check_uniform(const plan::facts& known, const call_class& arguments) const {
    std::vector<sheaf_tensor> shapes;
    for (const auto& extents : arguments.input_extents) shapes.push_back({nullptr, extents.data(), nullptr});
    for (const plan::check& c : planned_.checks)
      if (c.uniform && known.value(c.outside).value_or(0) != 0) fail_check(planned_.g, c, 0, shapes.data());
  }

  void place(element type, const std::vector<std::int64_t>& extents) {
    own_array a{bytes_, extents, std::vector<std::int64_t>(extents.size(), 1)};
    // A product that wrapped around would make a workspace that kernels write beyond.
    std::int64_t count = 1, bytes = 0;
    bool fits = true;
    for (std::size_t d = extents.size(); d-- > 0;) {
      a.strides[d] = count;
      fits = fits && !__builtin_mul_overflow(count, extents[d], &count);
    }
    fits = fits && !__builtin_mul_overflow(count, row(type).bytes, &bytes) && bytes <= most_bytes - static_cast<std::int64_t>(bytes_);
    if (!fits) runtime::fail(code::out_of_memory, "workspace of a call", "fewer than 2^62 bytes", "more");
    bytes_ += (static_cast<std::size_t>(bytes) + alignment - 1) / alignment * alignment;
    own_.push_back(std::move(a));
  }
  void lay_out(const plan::facts& known) {
    for (const workspace& w : planned_.workspaces) {
      std::vector<std::int64_t> extents;
      for (const node_id e : w.extents) extents.push_back(std::max<std::int64_t>(closed_value(known, e), 0));
      place(w.type, extents);
    }
    for (const plan::check& c : planned_.checks)
      if (!c.uniform) place(element::i64, {});
  }

  [[noreturn]] void fail_from(const sheaf_failure& failure, const sheaf_tensor* tensors) const {
    for (const plan::check& c : planned_.checks)
      if (!c.uniform && c.ordinal == failure.check) fail_check(planned_.g, c, failure.position, tensors);
    runtime::fail(code::broken_invariant, "index check", "one of the program's checks", std::to_string(failure.check));
  }

  planned planned_;
  std::string text_;
  std::shared_ptr<const loaded_code> code_;
  std::vector<own_array> own_;
  std::size_t bytes_ = 0;
  std::size_t given_ = 0;
};

}  // namespace

std::unique_ptr<runner> make_native_runner(const graph& g, const call_class& arguments) {
  try {
    return std::make_unique<native_runner>(g, arguments);
  } catch (const ir::bad_ir& broken) {
    runtime::fail(code::broken_invariant, "kernel IR", "what its grammar allows", broken.what());
  } catch (const std::length_error& many) {
    runtime::fail(code::unsupported, "plan of a call", "a smaller program", many.what());
  }
}

}  // namespace sheaf::jit
