// Runs compiled kernels: plans for a class of arguments, finds code, and calls it with workspace of the calling thread.

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include <sheaf/jit/engine/codegen.hpp>
#include <sheaf/jit/engine/failure.hpp>
#include <sheaf/jit/engine/layout.hpp>
#include <sheaf/jit/engine/runner.hpp>
#include <sheaf/jit/ir/print.hpp>
#include <sheaf/jit/ir/verify.hpp>
#include <sheaf/runtime/fail.hpp>
#include <sheaf/runtime/settings.hpp>
#include <sheaf/runtime/thread_pool.hpp>

namespace sheaf::inline v0_1::jit {

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

plan::call_facts this_device(const options& overrides) {
  plan::call_facts seen;
  seen.overrides = overrides;
  seen.on = target::here();
  return seen;
}

class native_runner final : public runner {
 public:
  native_runner(const graph& g, const call_class& arguments, const options& overrides)
      : call_(g, arguments, this_device(overrides), alignment), text_(ir::print(call_.program.code)) {
    if (runtime::current_settings().verify) ir::verify(call_.program.code);
    runtime::debug_line(3, "plan\n" + call_.program.text);
    runtime::debug_line(3, "kernel IR\n" + text_);
    code_ = code_for(call_.program.code, text_, overrides);
    costs_ = ir::costs_of(call_.program.code);
    if (call_.promised_bytes > 0) {
      const ir::module again = call_.program.code_again();
      if (runtime::current_settings().verify) ir::verify(again);
      again_ = code_for(again, ir::print(again), overrides);
      costs_again_ = ir::costs_of(again);
    }
    given_ = static_cast<std::size_t>(g.inputs.size() + g.outputs.size());
  }

  void run(const sheaf_tensor* tensors) const override { enter(*code_, costs_, tensors, nullptr); }
  void run_promised(const sheaf_tensor* tensors, char* memory, bool first) const override {
    const bool again = !first && again_ != nullptr;
    enter(again ? *again_ : *code_, again ? costs_again_ : costs_, tensors, memory);
  }
  std::size_t workspace_bytes() const override { return call_.bytes; }
  std::size_t promised_bytes() const override { return call_.promised_bytes; }
  const std::string& plan() const override { return call_.program.text; }
  const std::string& ir() const override { return text_; }

 private:
  void enter(const loaded_code& code, const std::vector<double>& costs, const sheaf_tensor* tensors,
             char* promised) const {
    sheaf_tensor few[16];
    std::vector<sheaf_tensor> many;
    const std::size_t slots = given_ + call_.arrays.size();
    if (slots > 16) many.resize(slots);
    sheaf_tensor* all = slots > 16 ? many.data() : few;
    std::memcpy(all, tensors, given_ * sizeof(sheaf_tensor));
    std::vector<std::int64_t> numbers;
    if (!call_.form.as_given()) call_.form.views(all, numbers);
    if (!call_.arrays.empty()) {
      static thread_local arena memory;
      char* base = memory.at_least(call_.bytes);
      for (std::size_t k = 0; k < call_.arrays.size(); ++k) {
        const own_array& a = call_.arrays[k];
        all[given_ + k] = {(a.promised ? promised : base) + a.offset, a.extents.data(), a.strides.data()};
      }
    }
    const parallel_hook hook = current_parallel_hook();
    sheaf_failure failure{};
    const sheaf_call call{all, hook.run, hook.pool, &failure, costs.data()};
    if (code.entry(&call) != SHEAF_OK) fail_from(failure, tensors);
  }

  [[noreturn]] void fail_from(const sheaf_failure& failure, const sheaf_tensor* tensors) const {
    std::vector<sheaf_tensor> inputs(tensors, tensors + call_.program.g.inputs.size());
    std::vector<std::int64_t> numbers;
    call_.form.named_views(inputs.data(), numbers);
    call_.fail(failure.check, failure.position, inputs.data(), read_host);
  }

  arranged_call call_;
  std::string text_;
  std::shared_ptr<const loaded_code> code_,
      again_;                                // again_: after the first call with what is promised; null: nothing is
  std::vector<double> costs_, costs_again_;  // of their parallel loops
  std::size_t given_ = 0;
};

}  // namespace

std::unique_ptr<runner> make_native_runner(const graph& g, const call_class& arguments, const options& overrides) {
  return planned_or_error([&] { return std::make_unique<native_runner>(g, arguments, overrides); });
}

}  // namespace sheaf::inline v0_1::jit
