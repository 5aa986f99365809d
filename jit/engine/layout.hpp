// A program planned for one class of arguments on the device that facts speak of, its inputs as they are arranged, and
// the workspace arrays and check results that it needs beside its arguments in one block of memory. Private header.
#pragma once
#include <stdexcept>
#include <string>
#include <vector>

#include <sheaf/jit/engine/arrange.hpp>
#include <sheaf/jit/engine/failure.hpp>
#include <sheaf/jit/engine/runner.hpp>
#include <sheaf/jit/ir/verify.hpp>
#include <sheaf/jit/pipeline.hpp>
#include <sheaf/runtime/fail.hpp>

namespace sheaf::inline v0_1::jit {

struct own_array {
  std::size_t offset = 0;  // in the workspace, or in what is promised
  bool promised = false;
  std::vector<std::int64_t> extents, strides;
};

class arranged_call {
 public:
  // device: what is known beside the arguments. Throws what fail_check throws for checks that need no data, and
  // code::out_of_memory where the workspace can't be addressed.
  arranged_call(const graph& g, const call_class& arguments, const plan::call_facts& device, std::size_t alignment);

  const arrangement form;
  const plan::call_facts facts;
  planned program;
  std::vector<own_array> arrays;  // by slot after the arguments: the workspaces, then the checks that are not uniform
  std::size_t bytes = 0, promised_bytes = 0;

  // By slot: inputs as they are arranged, outputs, workspaces, checks.
  std::vector<std::vector<std::int64_t>> slot_extents(const call_class& a) const;
  // Throws for the check of that ordinal, in the words of the program as it was written; tensors as named_views makes
  // them.
  [[noreturn]] void fail(std::int64_t ordinal, std::int64_t position, const sheaf_tensor* tensors,
                         const element_reader& read) const;

 private:
  void place(element type, const std::vector<std::int64_t>& extents, const std::vector<bool>& folded_storage,
             std::size_t alignment, bool promised);
  [[noreturn]] void fail(plan::check c, std::int64_t position, const sheaf_tensor* tensors,
                         const element_reader& read) const;
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
  }
}

}  // namespace sheaf::inline v0_1::jit
