// Debug information: which line of the kernel IR's text an instruction was made for. Shown by tests/jit/lines.cpp.
#pragma once
#include <llvm/IR/DIBuilder.h>

#include <sheaf/jit/ir/print.hpp>
#include <sheaf/jit/llvm/emitter.hpp>

namespace sheaf::inline v0_1::llvm_backend {

struct debug_lines {
  debug_lines(llvm::Module& module, const ir::listing& listing);

  const ir::listing& listing;
  llvm::DIBuilder build;
  llvm::DIFile* file;
  llvm::DISubroutineType* type;
};

}  // namespace sheaf::inline v0_1::llvm_backend
