// From LLVM IR to an object in memory: the target, the passes, the code generator.
#pragma once
#include <memory>
#include <string>

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <sheaf/jit/llvm/emitter.hpp>

namespace sheaf::inline v0_1::llvm_backend {

struct target_machine {
  std::unique_ptr<llvm::TargetMachine> machine;
  target_facts facts;
};

// A target that no other thread uses meanwhile. For each triple, processor, features and level as many are kept as
// threads compiled at a time: a TargetMachine costs about a millisecond.
class leased_target {
 public:
  leased_target(const char* triple, const char* cpu, const char* features, int level);
  leased_target(const leased_target&) = delete;
  ~leased_target();
  target_machine& operator*() const { return *own_; }

 private:
  std::string name_;
  std::unique_ptr<target_machine> own_;
};

// More targets than this machine's, where they are linked (targets.cpp).
__attribute__((weak)) void register_targets();

void merge_functions(llvm::Module& module);
void run_passes(llvm::Module& module, target_machine& t, int level);
llvm::SmallVector<char, 0> emit_code(llvm::Module& module, target_machine& t, bool text);

}  // namespace sheaf::inline v0_1::llvm_backend
