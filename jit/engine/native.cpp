// Runs compiled kernels: plans for a class of arguments, finds code, and calls it with workspace of the calling thread.

#include <algorithm>
#include <atomic>
#include <cstring>
#include <optional>

#include <sheaf/jit/engine/codegen.hpp>
#include <sheaf/jit/engine/decided_class.hpp>
#include <sheaf/jit/engine/failure.hpp>
#include <sheaf/jit/engine/layout.hpp>
#include <sheaf/jit/engine/runner.hpp>
#include <sheaf/jit/ir/print.hpp>
#include <sheaf/jit/ir/verify.hpp>
#include <sheaf/runtime/cancel.hpp>
#include <sheaf/runtime/fail.hpp>
#include <sheaf/runtime/settings.hpp>
#include <sheaf/runtime/thread_pool.hpp>
#include <sheaf/runtime/workspace.hpp>

namespace sheaf::inline v0_1::jit {

namespace {

constexpr std::size_t alignment = 64;

std::atomic<bool> as_of_much_data = false;

plan::call_facts this_device(const options& overrides, bool explains) {
  plan::call_facts seen;
  seen.force_for_tests = as_of_much_data;
  seen.explains = explains;
  seen.overrides = overrides;
  seen.on = target::here();
  seen.vectors = &target::vectors_of(target_of(overrides));
  return seen;
}

std::unique_ptr<arranged_program> planned_for(const graph& g, const call_class& arguments, const options& overrides,
                                              const extent_amounts& extents, bool explains) {
  return std::make_unique<arranged_program>(g, arguments, this_device(overrides, explains), extents);
}

// What LLVM made of a program, for calls that are planned alike.
class native_class final : public decided_class, public std::enable_shared_from_this<native_class> {
 public:
  native_class(const graph& g, const call_class& arguments, const options& overrides)
      : decided_class(overrides.shapes, arguments),
        g_(g),
        overrides_(overrides),
        own_(planned_for(g, arguments, overrides, amounts_of(g, arguments, decided_), false)),
        made(own_) {
    compile();
    own_->forget_plan();
    layout_.emplace(made, alignment);
    decided_.close();
    costs.close(decided_);
    costs_again.close(decided_);
    bytes_ = sizeof *this + decided_.bytes() + own_->bytes() + layout_->bytes() + code->object.mapped_bytes();
    if (again != nullptr) bytes_ += again->object.mapped_bytes();
  }

  std::size_t bytes() const override { return bytes_; }
  // f of a plan made anew, which is the one that there was: calls need nothing of it.
  template <class F>
  std::string of_plan(const call_class& arguments, const F& f) const {
    shapes::decisions anew(decided_.exact());
    return f(planned_for(g_, arguments, overrides_, amounts_of(g_, arguments, anew), true));
  }
  std::unique_ptr<runner> runner_for(std::span<const std::int64_t> extents,
                                     std::unique_ptr<runner> old) const override;
  const call_layout& layout() const { return *layout_; }
  // Whose workspace it is.
  const void* owner() const { return &g_; }

 private:
  void compile() {
    const planned& p = made->program;
    const std::string ir = ir::print(p.code);
    if (runtime::current_settings().verify) ir::verify(p.code);
    runtime::debug_line(3, "plan\n" + p.text);
    runtime::debug_line(3, "kernel IR\n" + ir);
    code = code_for(p.code, ir, overrides_);
    costs.list = ir::costs_of(p.code);
    if (std::ranges::none_of(p.workspaces, [](const workspace& w) { return w.promised; })) return;
    const ir::module rest = p.code_again();
    if (runtime::current_settings().verify) ir::verify(rest);
    again = code_for(rest, ir::print(rest), overrides_);
    costs_again.list = ir::costs_of(rest);
  }

  const graph& g_;  // the program's, which outlives its classes
  const options overrides_;
  const std::shared_ptr<arranged_program> own_;
  std::optional<call_layout> layout_;
  std::size_t bytes_ = 0;

 public:
  const std::shared_ptr<const arranged_program> made;
  // again: after the first call with what is promised; null: nothing is
  std::shared_ptr<const loaded_code> code, again;
  numbers_of_calls costs, costs_again;  // of the parallel loops
};

class native_runner final : public runner {
 public:
  void serve(std::shared_ptr<const native_class> of, std::span<const std::int64_t> extents) {
    of->layout().lay_out(extents, call_);
    of->costs.evaluate(extents, costs_);
    if (of->again != nullptr) of->costs_again.evaluate(extents, costs_again_);
    given_ = static_cast<std::size_t>(of->made->program.g.inputs.size() + of->made->program.g.outputs.size());
    of_ = std::move(of);
  }
  bool release() override {
    of_ = nullptr;
    return true;
  }

  void run(const sheaf_tensor* tensors) const override { enter(*of_->code, costs_, tensors, nullptr); }
  void run_promised(const sheaf_tensor* tensors, char* memory, bool first) const override {
    const bool again = !first && of_->again != nullptr;
    enter(again ? *of_->again : *of_->code, again ? costs_again_ : costs_, tensors, memory);
  }
  std::size_t workspace_bytes() const override { return call_.bytes; }
  std::size_t promised_bytes() const override { return call_.promised_bytes; }
  std::string plan(const call_class& arguments) const override {
    return of_->of_plan(arguments, [&](std::shared_ptr<arranged_program> plan) {
      return arranged_call(std::move(plan), arguments, alignment).text();
    });
  }
  std::string ir(const call_class& arguments) const override {
    return of_->of_plan(arguments, [](const auto& plan) { return ir::print(plan->program.code); });
  }

 private:
  static constexpr std::size_t few_slots = 24, few_numbers = 64;

  void enter(const loaded_code& code, const std::vector<double>& costs, const sheaf_tensor* tensors,
             char* promised) const {
    const arrangement& form = of_->made->form;
    const std::size_t slots = given_ + call_.arrays.size();
    // Tables that are too large for the stack stand behind the workspace.
    std::size_t bytes = call_.bytes;
    if (slots > few_slots) bytes += slots * sizeof(sheaf_tensor);
    if (form.numbers() > few_numbers) bytes += form.numbers() * sizeof(std::int64_t);
    if (bytes == 0) return call(code, costs, tensors, nullptr, promised);
    const runtime::workspace_block memory(bytes, of_->owner());
    call(code, costs, tensors, memory.data(), promised);
  }

  void call(const loaded_code& code, const std::vector<double>& costs, const sheaf_tensor* tensors, char* base,
            char* promised) const {
    const arrangement& form = of_->made->form;
    const std::size_t slots = given_ + call_.arrays.size();
    sheaf_tensor few[few_slots];
    std::int64_t numbers[few_numbers];
    char* const tables = base + call_.bytes;
    sheaf_tensor* const all = slots > few_slots ? reinterpret_cast<sheaf_tensor*>(tables) : few;
    std::memcpy(all, tensors, given_ * sizeof(sheaf_tensor));
    if (form.numbers() > few_numbers)
      form.views(all, reinterpret_cast<std::int64_t*>(tables + (slots > few_slots ? slots * sizeof *all : 0)));
    else if (!form.as_given())
      form.views(all, numbers);
    for (std::size_t k = 0; k < call_.arrays.size(); ++k) {
      const own_array& a = call_.arrays[k];
      all[given_ + k] = {(a.promised ? promised : base) + a.offset, a.extents.data(), a.strides.data()};
    }
    const parallel_hook hook = current_parallel_hook();
    sheaf_failure failure{};
    const sheaf_call call{all, hook.run, hook.pool, &failure, costs.data(), hook.threads};
    const cancel_token* const token = runtime::current_cancel_token();
    const std::int32_t status =
        token == nullptr ? code.entry(&call) : runtime::run_cancellable(code.entry, call, *token);
    if (status != SHEAF_OK) fail_from(failure, tensors);
  }

  [[noreturn]] void fail_from(const sheaf_failure& failure, const sheaf_tensor* tensors) const {
    const arranged_program& made = *of_->made;
    std::vector<sheaf_tensor> inputs(tensors, tensors + made.program.g.inputs.size());
    std::vector<std::int64_t> numbers(made.form.numbers());
    made.form.named_views(inputs.data(), numbers.data());
    made.fail(failure.check, failure.position, inputs.data(), read_host);
  }

  std::shared_ptr<const native_class> of_;
  call_memory call_;
  std::vector<double> costs_, costs_again_;  // of their parallel loops
  std::size_t given_ = 0;
};

std::unique_ptr<runner> native_class::runner_for(std::span<const std::int64_t> extents,
                                                 std::unique_ptr<runner> old) const {
  if (old == nullptr) old = std::make_unique<native_runner>();
  static_cast<native_runner&>(*old).serve(shared_from_this(), extents);
  return old;
}

}  // namespace

void plan_as_of_much_data(bool much) { as_of_much_data = much; }

std::shared_ptr<const shape_class> make_native_class(const graph& g, const call_class& arguments,
                                                     const options& overrides) {
  return planned_or_error([&] { return std::make_shared<const native_class>(g, arguments, overrides); });
}

}  // namespace sheaf::inline v0_1::jit
