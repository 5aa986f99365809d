// Addresses of rows, and values that are the same in all lanes, stand before the loops that do not change them: found
// when a loop is written, innermost first, in one walk over what was just emitted. LLVM's passes for it take a third
// of all time.
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

#include <sheaf/jit/llvm/emitter.hpp>

namespace sheaf::inline v0_1::llvm_backend {

using namespace llvm;

namespace {

bool is_splat_part(const Instruction& i) {
  if (const auto* insert = dyn_cast<InsertElementInst>(&i)) return isa<PoisonValue>(insert->getOperand(0));
  const auto* shuffle = dyn_cast<ShuffleVectorInst>(&i);
  return shuffle != nullptr && shuffle->isZeroEltSplat();
}

// A step of what is known of one number that lanes are divided by (math_division.cpp), and of little else.
bool is_scalar_step(const Instruction& i) {
  if (i.getType()->isVectorTy()) return false;
  if (const auto* call = dyn_cast<IntrinsicInst>(&i))  // is any lane of a mask set?
    return call->getIntrinsicID() == Intrinsic::fabs || call->getIntrinsicID() == Intrinsic::vector_reduce_or;
  if (isa<BitCastInst>(i)) return i.getOperand(0)->getType()->isVectorTy();
  if (i.getOpcode() == Instruction::ICmp) return isa<BitCastInst>(i.getOperand(0));
  const bool both = i.getOpcode() == Instruction::And && i.getType()->isIntegerTy(1);
  return both || i.getOpcode() == Instruction::FDiv || i.getOpcode() == Instruction::FCmp ||
         i.getOpcode() == Instruction::Select;
}

// Harmless where the loop is not entered, and no slower there than the test for it.
bool may_move(const function_emitter& f, const Instruction& i) {
  if (is_scalar_step(i)) return true;
  // With few registers a vector more to keep costs more than making it again.
  if (is_splat_part(i)) return f.m.target.vectors.registers > 16;
  if (isa<GetElementPtrInst>(i)) return i.getType()->isPointerTy();
  if (!i.getType()->isIntegerTy(64)) return false;
  return i.getOpcode() == Instruction::Add || i.getOpcode() == Instruction::Sub || i.getOpcode() == Instruction::Mul;
}

// A mask from outside. LLVM (19) would compare anew wherever one is used, as though it had no registers for them; a
// frozen comparison stays where it is.
void keep_masks(Instruction& i, const SmallPtrSetImpl<const BasicBlock*>& inside) {
  for (Use& use : i.operands()) {
    auto* const compared = dyn_cast<CmpInst>(use.get());
    if (compared == nullptr || !compared->getType()->isVectorTy() || inside.contains(compared->getParent())) continue;
    const auto kept = find_if(compared->users(), [](const User* u) { return isa<FreezeInst>(u); });
    use.set(kept != compared->user_end() ? *kept : new FreezeInst(compared, "mask", compared->getNextNode()));
  }
}

}  // namespace

void hoist_from_loop(const function_emitter& f, BasicBlock* before, BasicBlock* first, BasicBlock* done) {
  SmallPtrSet<const BasicBlock*, 16> inside{first};
  SmallVector<BasicBlock*, 16> blocks{first};
  for (BasicBlock* b = done->getNextNode(); b != nullptr; b = b->getNextNode()) inside.insert(b), blocks.push_back(b);
  Instruction* const end = before->getTerminator();
  for (BasicBlock* const b : blocks)
    for (Instruction& i : make_early_inc_range(*b)) {
      if (f.m.target.vectors.mask_registers && !isa<FreezeInst>(i)) keep_masks(i, inside);
      if (!may_move(f, i)) continue;
      bool same = true;
      for (const Value* const x : i.operand_values())
        if (const auto* made = dyn_cast<Instruction>(x)) same = same && !inside.contains(made->getParent());
      if (same) i.moveBefore(end);
    }
}

}  // namespace sheaf::inline v0_1::llvm_backend
