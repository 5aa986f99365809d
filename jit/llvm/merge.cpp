// Pass `merge`: functions of several kernels that have the same code become one. Plans for classes of extents differ in
// some of their stages; the tasks of the others are the same. Shown by tests/aot/built.sh.
#include <map>
#include <vector>

#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/FunctionComparator.h>

#include <sheaf/jit/llvm/codegen.hpp>

namespace sheaf::inline v0_1::llvm_backend {

using namespace llvm;

void merge_functions(Module& module) {
  // Those that call others are the same once these are.
  for (bool merged = true; merged;) {
    merged = false;
    GlobalNumberState numbers;
    std::map<unsigned, std::vector<Function*>> known;  // by number of instructions
    for (Function& f : make_early_inc_range(module)) {
      if (f.isDeclaration() || !f.hasLocalLinkage()) continue;
      std::vector<Function*>& like_it = known[f.getInstructionCount()];
      Function* same = nullptr;
      for (Function* other : like_it)
        if (FunctionComparator(other, &f, &numbers).compare() == 0) same = other;
      if (same == nullptr) {
        like_it.push_back(&f);
        continue;
      }
      numbers.erase(&f);
      f.replaceAllUsesWith(same);
      f.eraseFromParent();
      merged = true;
    }
  }
}

}  // namespace sheaf::inline v0_1::llvm_backend
