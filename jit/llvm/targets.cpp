// Targets beside this machine's, for the generator of kernels ahead of time; the plug-in is without them.
#include <sheaf/jit/llvm/plugin.h>

#include <llvm/Support/TargetSelect.h>

void sheaf_llvm_register_targets(void) {
#ifdef SHEAF_LLVM_AARCH64
  LLVMInitializeAArch64TargetInfo();
  LLVMInitializeAArch64Target();
  LLVMInitializeAArch64TargetMC();
  LLVMInitializeAArch64AsmPrinter();
#endif
}
