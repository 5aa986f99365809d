// Runs kernel IR: verify, compile by the plug-in, load, call with views of plain vectors.
#pragma once
#include <deque>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <sheaf/jit/llvm/plugin.h>
#include <sheaf/runtime/sheaf_call.h>
#include <sheaf/jit/ir/builder.hpp>
#include <sheaf/runtime/object_loader.hpp>

#ifndef SHEAF_LLVM_PLUGIN_DEFAULT
#define SHEAF_LLVM_PLUGIN_DEFAULT "libsheaf_llvm.so"
#endif

namespace sheaf::test {

using ir::access;
using ir::loop_kind;
using ir::role;
using ir::value;

struct plugin {
  sheaf_llvm_compile_fn compile;
  void (*free)(sheaf_llvm_result*);

  static const plugin& get();
};

inline sheaf_llvm_options default_options() {
  return {.cpu = "native",
          .features = nullptr,
          .level = 2,
          .verify = 1,
          .exact_sum = 0,
          .strict = 0,
          .want_ir = 0,
          .want_asm = 0,
          .triple = nullptr,
          .listing = nullptr};
}

struct compiled_code {
  runtime::loaded_object object;
  sheaf_entry entry = nullptr;
  std::string assembly, llvm_ir;  // where they were asked for
};

// A compiled module and the arguments of a call, by slot.
class program {
 public:
  explicit program(const ir::module& m, const sheaf_llvm_options& options = default_options());
  program(const program&) = delete;

  // Row-major; the next slot.
  template <class T>
  program& argument(T* data, std::vector<std::int64_t> extents, std::vector<std::int64_t> strides = {}) {
    if (strides.empty()) {
      strides.assign(extents.size(), 1);
      for (std::size_t d = extents.size(); d-- > 1;) strides[d - 1] = strides[d] * extents[d];
    }
    kept_.push_back(std::move(extents));
    const std::int64_t* e = kept_.back().data();
    kept_.push_back(std::move(strides));
    tensors_.push_back({const_cast<void*>(static_cast<const void*>(data)), e, kept_.back().data()});
    call.tensors = tensors_.data();
    return *this;
  }
  program& reset() {
    tensors_.clear();
    kept_.clear();
    return *this;
  }
  std::int32_t run() { return code_->entry(&call); }

  sheaf_call call{};
  sheaf_failure failure{-1, -1};
  const compiled_code& code() const { return *code_; }

 private:
  std::shared_ptr<const compiled_code> code_;
  std::deque<std::vector<std::int64_t>> kept_;
  std::vector<double> costs_;
  std::vector<sheaf_tensor> tensors_;
};

std::int32_t add_slot(ir::module& m, const char* name, element type, int rank, role where);

}  // namespace sheaf::test
