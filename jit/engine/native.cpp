// Runs compiled kernels: plans for a class of arguments, finds code, and calls it with workspace of the calling thread.

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include <sheaf/jit/engine/arguments.hpp>
#include <sheaf/jit/engine/codegen.hpp>
#include <sheaf/jit/engine/failure.hpp>
#include <sheaf/jit/engine/layout.hpp>
#include <sheaf/jit/engine/runner.hpp>
#include <sheaf/jit/ir/print.hpp>
#include <sheaf/jit/ir/verify.hpp>
#include <sheaf/runtime/array.hpp>
#include <sheaf/runtime/fail.hpp>
#include <sheaf/runtime/host.hpp>
#include <sheaf/runtime/settings.hpp>
#include <sheaf/runtime/thread_pool.hpp>

namespace sheaf::inline v0_1::jit {

namespace {

constexpr std::size_t alignment = 64;

// Workspace that a thread keeps between calls.
class arena {
 public:
  ~arena() { free(); }
  char* at_least(std::size_t bytes) {
    if (bytes > size_) {
      free();
      const std::size_t size = (bytes + alignment - 1) / alignment * alignment;
      memory_ = static_cast<char*>(runtime::allocate(size, false));
      size_ = size;
    }
    return memory_;
  }
  void free() {
    runtime::deallocate(memory_, size_);
    memory_ = nullptr;
    size_ = 0;
  }

 private:
  char* memory_ = nullptr;
  std::size_t size_ = 0;
};

arena& own_workspace() {
  static thread_local arena memory;
  static const bool noted = (runtime::at_shutdown([] { own_workspace().free(); }), true);
  static_cast<void>(noted);
  return memory;
}

plan::call_facts this_device(const options& overrides) {
  plan::call_facts seen;
  seen.overrides = overrides;
  seen.on = target::here();
  return seen;
}

std::unique_ptr<arranged_program> planned_for(const graph& g, const call_class& arguments, const options& overrides,
                                              const extent_amounts& extents) {
  return std::make_unique<arranged_program>(g, arguments, this_device(overrides), extents);
}

// What LLVM made of a program, for calls that are planned alike.
class native_class final : public shape_class, public std::enable_shared_from_this<native_class> {
 public:
  native_class(const graph& g, const call_class& arguments, const options& overrides)
      : g_(g),
        overrides_(overrides),
        own_(planned_for(g, arguments, overrides, amounts_of(arguments, decided_))),
        made(own_) {
    compile();
    own_->forget_plan();
    decided_.close();
    bytes_ = sizeof *this + decided_.bytes() + own_->bytes() + code->object.mapped_bytes();
    if (again != nullptr) bytes_ += again->object.mapped_bytes();
  }

  std::size_t bytes() const override { return bytes_; }
  // A plan made anew is the one that there was: calls need nothing of it.
  std::shared_ptr<arranged_program> plan_for(const call_class& arguments) const {
    return planned_for(g_, arguments, overrides_, amounts_of(arguments));
  }
  bool serves(std::span<const std::int64_t> extents) const override { return decided_.hold(extents); }
  std::string difference(std::span<const std::int64_t> extents, std::span<const std::string> names) const override {
    return decided_.difference(extents, names);
  }
  std::unique_ptr<runner> runner_for(const call_class& arguments) const override;

  // Of the parallel loops, in calls of these extents.
  std::vector<double> costs(std::span<const std::int64_t> extents, bool of_later_calls) const {
    return decided_.values(of_later_calls ? costs_again_ : costs_, extents);
  }

 private:
  void compile() {
    const planned& p = made->program;
    const std::string ir = ir::print(p.code);
    if (runtime::current_settings().verify) ir::verify(p.code);
    runtime::debug_line(3, "plan\n" + p.text);
    runtime::debug_line(3, "kernel IR\n" + ir);
    code = code_for(p.code, ir, overrides_);
    costs_ = ir::costs_of(p.code);
    if (std::none_of(p.workspaces.begin(), p.workspaces.end(), [](const workspace& w) { return w.promised; })) return;
    const ir::module rest = p.code_again();
    if (runtime::current_settings().verify) ir::verify(rest);
    again = code_for(rest, ir::print(rest), overrides_);
    costs_again_ = ir::costs_of(rest);
  }

  const graph& g_;  // the program's, which outlives its classes
  const options overrides_;
  shapes::decisions decided_;
  const std::shared_ptr<arranged_program> own_;

 public:
  const std::shared_ptr<const arranged_program> made;
  // again: after the first call with what is promised; null: nothing is
  std::shared_ptr<const loaded_code> code, again;

 private:
  std::vector<shapes::amount> costs_, costs_again_;
  std::size_t bytes_ = 0;
};

class native_runner final : public runner {
 public:
  native_runner(std::shared_ptr<const native_class> of, const call_class& arguments)
      : of_(std::move(of)), call_(of_->made, arguments, alignment), code_(*of_->code), again_(of_->again.get()) {
    const std::vector<std::int64_t> extents = all_extents(arguments);
    costs_ = of_->costs(extents, false);
    costs_again_ = of_->costs(extents, true);
    given_ = arguments.input_extents.size() + arguments.output_extents.size();
  }

  void run(const sheaf_tensor* tensors) const override { enter(code_, costs_, tensors, nullptr); }
  void run_promised(const sheaf_tensor* tensors, char* memory, bool first) const override {
    const bool again = !first && again_ != nullptr;
    enter(again ? *again_ : code_, again ? costs_again_ : costs_, tensors, memory);
  }
  std::size_t workspace_bytes() const override { return call_.bytes; }
  std::size_t promised_bytes() const override { return call_.promised_bytes; }
  std::string plan(const call_class& arguments) const override {
    return arranged_call(of_->plan_for(arguments), arguments, alignment).text();
  }
  std::string ir(const call_class& arguments) const override {
    return ir::print(of_->plan_for(arguments)->program.code);
  }

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
      char* base = own_workspace().at_least(call_.bytes);
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

  const std::shared_ptr<const native_class> of_;
  const arranged_call call_;
  const loaded_code& code_;
  const loaded_code* const again_;
  std::vector<double> costs_, costs_again_;  // of their parallel loops
  std::size_t given_ = 0;
};

std::unique_ptr<runner> native_class::runner_for(const call_class& arguments) const {
  return std::make_unique<native_runner>(shared_from_this(), arguments);
}

}  // namespace

std::shared_ptr<const shape_class> make_native_class(const graph& g, const call_class& arguments,
                                                     const options& overrides) {
  return planned_or_error([&] { return std::make_shared<const native_class>(g, arguments, overrides); });
}

}  // namespace sheaf::inline v0_1::jit
