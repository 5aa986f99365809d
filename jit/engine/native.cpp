// Runs compiled kernels: plans for a class of arguments, finds code, and calls it with workspace of the calling thread.
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include <sheaf/jit/engine/codegen.hpp>
#include <sheaf/jit/engine/failure.hpp>
#include <sheaf/jit/engine/layout.hpp>
#include <sheaf/jit/engine/runner.hpp>
#include <sheaf/jit/ir/print.hpp>
#include <sheaf/jit/ir/verify.hpp>
#include <sheaf/runtime/fail.hpp>
#include <sheaf/runtime/settings.hpp>
#include <sheaf/runtime/thread_pool.hpp>

namespace sheaf::jit {

namespace {

constexpr std::size_t alignment = 64;

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

class native_runner final : public runner {
 public:
  native_runner(const graph& g, const call_class& arguments)
      : planned_(plan_program(g, facts_of(arguments), "sheaf_program")), text_(ir::print(planned_.code)) {
    if (runtime::current_settings().verify) ir::verify(planned_.code);
    runtime::debug_line(3, "plan\n" + planned_.text);
    runtime::debug_line(3, "kernel IR\n" + text_);
    const plan::facts known(planned_.g, facts_of(arguments));
    check_uniform(planned_, known, arguments);
    own_ = call_layout(planned_, known, alignment);
    code_ = code_for(planned_.code, text_);
    given_ = static_cast<std::size_t>(g.inputs.size() + g.outputs.size());
  }

  void run(const sheaf_tensor* tensors) const override {
    sheaf_tensor few[16];
    std::vector<sheaf_tensor> many;
    const std::size_t slots = given_ + own_.arrays.size();
    if (slots > 16) many.resize(slots);
    sheaf_tensor* all = slots > 16 ? many.data() : few;
    std::memcpy(all, tensors, given_ * sizeof(sheaf_tensor));
    if (!own_.arrays.empty()) {
      static thread_local arena memory;
      char* base = memory.at_least(own_.bytes);
      std::size_t slot = given_;
      for (const call_layout::own_array& a : own_.arrays)
        all[slot++] = {base + a.offset, a.extents.data(), a.strides.data()};
    }
    const parallel_hook hook = current_parallel_hook();
    sheaf_failure failure{};
    const sheaf_call call{all, hook.run, hook.pool, &failure};
    if (code_->entry(&call) != SHEAF_OK) fail_from(failure, tensors);
  }
  const std::string& plan() const override { return planned_.text; }
  const std::string& ir() const override { return text_; }

 private:
  [[noreturn]] void fail_from(const sheaf_failure& failure, const sheaf_tensor* tensors) const {
    for (const plan::check& c : planned_.checks)
      if (!c.uniform && c.ordinal == failure.check) fail_check(planned_.g, c, failure.position, tensors);
    runtime::fail(code::broken_invariant, "index check", "one of the program's checks", std::to_string(failure.check));
  }

  planned planned_;
  std::string text_;
  std::shared_ptr<const loaded_code> code_;
  call_layout own_;
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
