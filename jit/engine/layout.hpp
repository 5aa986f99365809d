// A program planned for a class of arguments, and a call of it: its inputs as they are arranged, and the workspace
// arrays and check results that it needs beside its arguments in one block of memory. Private header.
#pragma once
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <sheaf/jit/engine/arrange.hpp>
#include <sheaf/jit/engine/closed_formulas.hpp>
#include <sheaf/jit/engine/failure.hpp>
#include <sheaf/jit/engine/runner.hpp>
#include <sheaf/jit/ir/verify.hpp>
#include <sheaf/jit/pipeline.hpp>
#include <sheaf/jit/shapes/usual_extents.hpp>
#include <sheaf/runtime/fail.hpp>

namespace sheaf::inline v0_1::jit {

struct own_array {
  std::size_t offset = 0;  // in the workspace, or in what is promised
  bool promised = false;
  std::span<const std::int64_t> extents, strides;
};

// What a call needs beside its arguments. It can be laid out anew for another call, in the same memory.
struct call_memory {
  call_memory() = default;
  call_memory(const call_memory&) = delete;
  std::vector<own_array> arrays;  // by slot after the arguments: the workspaces, then the checks that are not uniform
  std::size_t bytes = 0, promised_bytes = 0;
  std::vector<std::int64_t> numbers;  // that arrays refer to
};

// Extents as numbers of one call, or with what is decided by them recorded.
extent_amounts amounts_of(const call_class& a);
extent_amounts amounts_of(const graph& g, const call_class& a, shapes::decisions& record, bool gpu = false);
extent_amounts amounts_of(const call_class& a, shapes::decisions& record, const shapes::usual_extents& usual);

// A program planned for a layout of arguments and the extents of a call, on the device that facts speak of.
struct arranged_program {
  arranged_program(const graph& g, const call_class& a, plan::call_facts device, const extent_amounts& extents);

  // By slot: the extents of inputs as they are arranged, of outputs, workspaces and checks. extents: what it was
  // planned for. Before the plan is forgotten.
  extent_amounts slot_amounts(const call_class& a, const extent_amounts& extents);
  // Once there is code: only what calls evaluate or are told about stays.
  void forget_plan();
  std::size_t bytes() const;

  // Throws for the check of that ordinal, in the words of the program as it was written; tensors as named_views makes
  // them.
  [[noreturn]] void fail(std::int64_t ordinal, std::int64_t position, const sheaf_tensor* tensors,
                         const element_reader& read) const;
  [[noreturn]] void fail(plan::check c, std::int64_t position, const sheaf_tensor* tensors,
                         const element_reader& read) const;

  const arrangement form;
  planned program;
};

// The memory of calls of such a program.
class call_layout {
 public:
  // After what calls don't need is forgotten: expressions have other ids then.
  call_layout(std::shared_ptr<const arranged_program> of, std::size_t alignment);

  // extents: of the inputs, as they are given. Throws what fail_check throws for checks that need no data, and
  // code::out_of_memory where the workspace can't be addressed.
  void lay_out(std::span<const std::int64_t> extents, call_memory& made) const;
  std::size_t bytes() const { return formulas_.bytes() + arrays_.size() * sizeof(array); }
  const arranged_program& program() const { return *of_; }

 private:
  struct array {
    element type = element::i64;
    bool promised = false;
    std::vector<int> extents;  // among the values of formulas
    std::vector<bool> folded_storage;
  };
  struct uniform_check {
    int outside = 0;  // among the values of formulas
    std::size_t place = 0;
  };
  void place(const array& a, std::span<const std::int64_t> values, call_memory& made, std::int64_t* numbers) const;
  [[noreturn]] void fail(const plan::check& c, std::span<const std::int64_t> extents) const;

  std::shared_ptr<const arranged_program> of_;
  std::size_t alignment_, numbers_ = 0;
  closed_formulas formulas_;
  std::vector<array> arrays_;
  std::vector<uniform_check> checks_;
};

// One call.
class arranged_call : public call_memory {
 public:
  arranged_call(std::shared_ptr<const arranged_program> of, const call_class& arguments, std::size_t alignment);

 private:
  const std::shared_ptr<const arranged_program> of_;

 public:
  const arrangement& form;
  const planned& program;

  // The plan, with the memory that this call takes.
  std::string text() const;
  // By slot: inputs as they are arranged, outputs, workspaces, checks.
  std::vector<std::vector<std::int64_t>> slot_extents(const call_class& a) const;
  [[noreturn]] void fail(std::int64_t ordinal, std::int64_t position, const sheaf_tensor* tensors,
                         const element_reader& read) const {
    of_->fail(ordinal, position, tensors, read);
  }
};

// What make() returns; what planning and lowering throw becomes an error for the caller.
template <class Make>
auto planned_or_error(Make&& make) {
  try {
    return make();
  } catch (const ir::bad_ir& broken) {
    runtime::fail(code::broken_invariant, "kernel IR", "what its grammar allows", broken.what());
  } catch (const plan::cannot_follow& reason) {
    runtime::fail(code::unsupported, "plan of a call", "one that follows its options", reason.what());
  } catch (const std::length_error& many) {
    runtime::fail(code::unsupported, "plan of a call", "a smaller program", many.what());
  } catch (const std::logic_error& broken) {
    runtime::fail(code::broken_invariant, "plan of a call", "one by its rules", broken.what());
  }
}

}  // namespace sheaf::inline v0_1::jit
