// Targets beside this machine's, for the generator of kernels ahead of time; the plug-in is without them.
#include <sheaf/jit/llvm/codegen.hpp>

#include <llvm/Support/TargetSelect.h>

namespace sheaf::inline v0_1::llvm_backend {

void register_targets() {
#ifdef SHEAF_LLVM_AARCH64
  LLVMInitializeAArch64TargetInfo();
  LLVMInitializeAArch64Target();
  LLVMInitializeAArch64TargetMC();
  LLVMInitializeAArch64AsmPrinter();
#endif
}

}  // namespace sheaf::inline v0_1::llvm_backend
