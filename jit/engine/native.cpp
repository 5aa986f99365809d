// Runs compiled kernels: plans for a class of arguments, finds code, and calls it with workspace of the calling thread.

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include <sheaf/jit/engine/arrange.hpp>
#include <sheaf/jit/engine/codegen.hpp>
#include <sheaf/jit/engine/failure.hpp>
#include <sheaf/jit/engine/machine.hpp>
#include <sheaf/jit/engine/runner.hpp>
#include <sheaf/jit/engine/words.hpp>
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

plan::call_facts facts_of(const arrangement& form, const call_class& a, const options& steer) {
  plan::call_facts seen = form.facts(a);
  seen.steer = steer;
  seen.on = this_machine();
  // Half of the last cache, or what panels bring is gone before it is read again; two panels a thread, for the next one comes.
  seen.cache_share = seen.on.last_cache / 4 / std::max(1, current_parallel_hook().threads);
  return seen;
}

std::int64_t closed_value(const plan::facts& known, node_id e) {
  const auto value = known.value(e);
  if (!value) runtime::fail(code::broken_invariant, "workspace of a call", "extents that do not depend on data", "one that does");
  return *value;
}

class native_runner final : public runner {
 public:
  native_runner(const graph& g, const call_class& arguments, const options& steer)
      : form_(g, arguments),
        planned_(plan_program(form_.of(g), facts_of(form_, arguments, steer), "sheaf_program")),
        text_(ir::print(planned_.code)) {
    planned_.text = form_.note(g) + planned_.text;
    if (runtime::current_settings().verify) ir::verify(planned_.code);
    runtime::debug_line(3, "plan\n" + planned_.text);
    runtime::debug_line(3, "kernel IR\n" + text_);
    const plan::facts known(planned_.g, facts_of(form_, arguments, steer));
    check_uniform(known, arguments);
    lay_out(known);
    code_ = code_for(planned_.code, text_, steer);
    given_ = static_cast<std::size_t>(g.inputs.size() + g.outputs.size());
  }

  void run(const sheaf_tensor* tensors) const override {
    sheaf_tensor few[16];
    std::vector<sheaf_tensor> many;
    const std::size_t slots = given_ + own_.size();
    if (slots > 16) many.resize(slots);
    sheaf_tensor* all = slots > 16 ? many.data() : few;
    std::memcpy(all, tensors, given_ * sizeof(sheaf_tensor));
    std::vector<std::int64_t> numbers;
    if (!form_.as_given()) form_.views(all, numbers);
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
    for (const auto& extents : arguments.input_extents) shapes.push_back({nullptr, extents.data(), extents.data()});
    for (const plan::check& c : planned_.checks)
      if (c.uniform && known.value(c.outside).value_or(0) != 0) fail(c, 0, shapes.data());
  }

  // In the words of the program as it was written.
  [[noreturn]] void fail(plan::check c, std::int64_t position, const sheaf_tensor* tensors) const {
    std::vector<sheaf_tensor> inputs(tensors, tensors + planned_.g.inputs.size());
    std::vector<std::int64_t> numbers;
    form_.named_views(inputs.data(), numbers);
    for (int i = 0; i < planned_.g.inputs.size(); ++i)
      if (c.demand < 0 && slot_text(planned_.g, i) == c.tensor) c.dimension = form_.named_dimension(i, c.dimension);
    fail_check(form_.named(planned_.g), c, position, inputs.data());
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
      if (!c.uniform && c.ordinal == failure.check) fail(c, failure.position, tensors);
    runtime::fail(code::broken_invariant, "index check", "one of the program's checks", std::to_string(failure.check));
  }

  arrangement form_;
  planned planned_;
  std::string text_;
  std::shared_ptr<const loaded_code> code_;
  std::vector<own_array> own_;
  std::size_t bytes_ = 0;
  std::size_t given_ = 0;
};

}  // namespace

std::unique_ptr<runner> make_native_runner(const graph& g, const call_class& arguments, const options& steer) {
  try {
    return std::make_unique<native_runner>(g, arguments, steer);
  } catch (const ir::bad_ir& broken) {
    runtime::fail(code::broken_invariant, "kernel IR", "what its grammar allows", broken.what());
  } catch (const plan::cannot_follow& reason) {
    runtime::fail(code::unsupported, "plan of a call", "one that follows its options", reason.what());
  } catch (const std::length_error& many) {
    runtime::fail(code::unsupported, "plan of a call", "a smaller program", many.what());
  }
}

}  // namespace sheaf::jit
