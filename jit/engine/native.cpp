// Runs compiled kernels: plans for a class of arguments, finds code, and calls it with workspace of the calling thread.
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include <sheaf/jit/engine/arrange.hpp>
#include <sheaf/jit/engine/codegen.hpp>
#include <sheaf/jit/engine/failure.hpp>
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

std::vector<dimension_order> orders_of(const call_class& a) {
  std::vector<dimension_order> orders;
  for (std::size_t i = 0; i < a.input_extents.size(); ++i)
    orders.push_back(with_last(static_cast<int>(a.input_extents[i].size()), a.closest[i]));
  return orders;
}

// Of the program as it is arranged.
plan::call_facts facts_of(const call_class& a) {
  plan::call_facts seen;
  const std::vector<dimension_order> orders = orders_of(a);
  for (std::size_t i = 0; i < orders.size(); ++i) {
    std::vector<std::int64_t> extents;
    for (const int d : orders[i]) extents.push_back(a.input_extents[i][static_cast<std::size_t>(d)]);
    seen.inputs.push_back({std::move(extents), a.unit_inputs[i]});
  }
  seen.unit_outputs = a.unit_outputs;
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
      : orders_(orders_of(arguments)),
        planned_(plan_program(arranged(g, orders_), facts_of(arguments), "sheaf_program")),
        text_(ir::print(planned_.code)) {
    note_orders(g);
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
    std::vector<std::int64_t> moved;
    if (moved_ > 0) arrange(all, moved);
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

  // A line before the plan for each order that is not as given; and how many numbers their views take.
  void note_orders(const graph& g) {
    std::string notes;
    for (std::size_t i = 0; i < orders_.size(); ++i) {
      if (is_as_given(orders_[i])) continue;
      moved_ += 2 * orders_[i].size();
      notes += "input " + slot_text(g, static_cast<int>(i)) + ": dimension " + std::to_string(orders_[i].back()) +
               " is the last here, its elements lie closest\n";
    }
    planned_.text = notes + planned_.text;
  }
  void arrange(sheaf_tensor* all, std::vector<std::int64_t>& moved) const {
    moved.reserve(moved_);
    const auto take = [&](const dimension_order& order, const std::int64_t* of) {
      const std::size_t first = moved.size();
      for (const int d : order) moved.push_back(of[d]);
      return moved.data() + first;
    };
    for (std::size_t i = 0; i < orders_.size(); ++i) {
      if (is_as_given(orders_[i])) continue;
      all[i].extents = take(orders_[i], all[i].extents);
      all[i].strides = take(orders_[i], all[i].strides);
    }
  }

  void check_uniform(const plan::facts& known, const call_class& arguments) const {
    std::vector<sheaf_tensor> shapes;
    for (const auto& extents : arguments.input_extents) shapes.push_back({nullptr, extents.data(), nullptr});
    for (const plan::check& c : planned_.checks)
      if (c.uniform && known.value(c.outside).value_or(0) != 0) fail(c, 0, shapes.data());
  }

  // In the words of the program as it was written.
  [[noreturn]] void fail(plan::check c, std::int64_t position, const sheaf_tensor* tensors) const {
    std::vector<dimension_order> back;
    for (std::size_t i = 0; i < orders_.size(); ++i) {
      const bool its = c.demand < 0 && slot_text(planned_.g, static_cast<int>(i)) == c.tensor;
      if (its) c.dimension = orders_[i][static_cast<std::size_t>(c.dimension)];
      back.push_back(inverse(orders_[i]));
    }
    fail_check(arranged(planned_.g, back), c, position, tensors);
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

  std::vector<dimension_order> orders_;
  std::size_t moved_ = 0;
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
