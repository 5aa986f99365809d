// Lanes that are apart in memory, where the processor has no instruction for them. LLVM would write each lane out, its
// address computed in vectors and taken apart again. A few lanes are loaded one by one instead, by offsets that are in
// memory already or go there as vectors: a load each, where taking a vector apart takes three instructions. For many
// lanes a loop goes through the stack. Shown by tests/jit/by_lane.cpp, and by all tests that run on_processors.
#include <llvm/IR/InlineAsm.h>

#include <sheaf/jit/llvm/emitter.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::llvm_backend {

using namespace llvm;

namespace {

constexpr std::uint64_t lanes_a_trip = 4;  // of all lanes; of a part of them one

using lane_body = function_ref<void(Value* lane, Value* address)>;

Value* number(builder& b, std::uint64_t n) { return b.getInt64(n); }

// Vectors that the loop reads lane by lane.
class lane_addresses {
 public:
  lane_addresses(function_emitter& f, const lane_access& a) : f_(f), a_(a) {
    auto& b = f.build;
    if (a.offsets != nullptr) b.CreateStore(a.offsets, offsets_ = f.stack_slot(a.offsets->getType(), "offsets"));
    if (a.mask == nullptr) return;
    Type* const bytes = FixedVectorType::get(b.getInt8Ty(), static_cast<unsigned>(a.lanes));
    b.CreateStore(b.CreateZExt(a.mask, bytes), live_ = f.stack_slot(bytes, "live"));
  }
  Value* of(Value* lane, Value* running) const {
    auto& b = f_.build;
    Value* address = running;
    if (offsets_ != nullptr)
      address = b.CreateGEP(a_.element, running,
                            b.CreateLoad(b.getInt64Ty(), b.CreateGEP(b.getInt64Ty(), offsets_, lane)));
    if (live_ == nullptr) return address;
    Value* const live = b.CreateLoad(b.getInt8Ty(), b.CreateGEP(b.getInt8Ty(), live_, lane));
    return b.CreateSelect(b.CreateIsNotNull(live), address, a_.instead);
  }

 private:
  function_emitter& f_;
  const lane_access& a_;
  Value *offsets_ = nullptr, *live_ = nullptr;
};

void for_each_lane(function_emitter& f, const lane_access& a, lane_body body) {
  auto& b = f.build;
  const lane_addresses addresses(f, a);
  const bool whole = a.count == nullptr && static_cast<std::uint64_t>(a.lanes) % lanes_a_trip == 0;
  Value* const count = a.count != nullptr ? a.count : number(b, static_cast<std::uint64_t>(a.lanes));
  Value* const stride = a.stride != nullptr ? a.stride : number(b, a.offsets != nullptr ? 0 : 1);
  BasicBlock* const before = b.GetInsertBlock();
  auto* const trip = BasicBlock::Create(b.getContext(), "lane", f.function);
  auto* const done = BasicBlock::Create(b.getContext(), "lanes.done", f.function);
  b.CreateBr(trip);
  b.SetInsertPoint(trip);
  PHINode* const lane = b.CreatePHI(b.getInt64Ty(), 2);
  PHINode* const first = b.CreatePHI(b.getPtrTy(), 2);
  Value *at = lane, *address = first;
  for (std::uint64_t k = 0; k < (whole ? lanes_a_trip : 1); ++k) {
    body(at, addresses.of(at, address));
    at = b.CreateAdd(at, number(b, 1));
    address = b.CreateGEP(a.element, address, stride);
  }
  lane->addIncoming(number(b, 0), before);
  lane->addIncoming(at, trip);
  first->addIncoming(a.pointer, before);
  first->addIncoming(address, trip);
  b.CreateCondBr(b.CreateICmpULT(at, count), trip, done);
  b.SetInsertPoint(done);
}

}  // namespace

// A vector in memory of which LLVM doesn't know what was stored there: it would take the vector apart in registers.
Value* spilled(function_emitter& f, Value* vector) {
  LLVMContext& c = f.build.getContext();
  Type* const pointer = PointerType::getUnqual(c);
  AllocaInst* const made = f.stack_slot(vector->getType(), "spilled");
  auto* const type = FunctionType::get(pointer, {pointer}, false);
  builder entry(f.prologue, InstSimplifyFolder(f.m.module.getDataLayout()));
  CallInst* const hidden = entry.CreateCall(InlineAsm::get(type, "", "=r,0", false), {made});
  hidden->setDoesNotAccessMemory();
  hidden->setDoesNotThrow();
  f.build.CreateStore(vector, made);
  return hidden;
}

namespace {

// Where lane k is, for lanes in order.
class written_out_addresses {
 public:
  written_out_addresses(function_emitter& f, const lane_access& a) : f_(f), a_(a), running_(a.pointer) {
    auto& b = f.build;
    if (a.offsets == nullptr || a.indices != nullptr) return;
    if (a.mask == nullptr) {
      offsets_ = spilled(f, a.offsets);
      return;
    }
    Value* const all = b.CreateGEP(a.element, a.pointer, a.offsets);
    pointers_ = spilled(f, b.CreateSelect(a.mask, all, splat(f, a.instead, a.lanes)));
  }
  Value* of(std::uint64_t lane) {
    auto& b = f_.build;
    Value* const n = number(b, lane);
    if (pointers_ != nullptr) return b.CreateLoad(b.getPtrTy(), b.CreateGEP(b.getPtrTy(), pointers_, n));
    Value* here = running_;
    if (a_.stride != nullptr) running_ = b.CreateGEP(a_.element, running_, a_.stride);
    if (offsets_ != nullptr) here = b.CreateGEP(a_.element, here, loaded(b.getInt64Ty(), offsets_, n));
    if (a_.indices != nullptr) {
      Value* const index = b.CreateSExt(loaded(a_.index, a_.indices, n), b.getInt64Ty());
      here = b.CreateGEP(a_.element, here, b.CreateMul(index, a_.scale));
    }
    if (a_.count == nullptr || lane == 0) return here;
    return b.CreateSelect(b.CreateICmpULT(n, a_.count), here, a_.instead);
  }

 private:
  Value* loaded(Type* type, Value* from, Value* at) {
    return f_.build.CreateLoad(type, f_.build.CreateGEP(type, from, at));
  }

  function_emitter& f_;
  const lane_access& a_;
  Value *running_, *offsets_ = nullptr, *pointers_ = nullptr;
};

}  // namespace

bool is_written_out(const function_emitter& f, const lane_access& a) {
  if (f.m.target.vectors.mask_registers || a.lanes < 2 || a.lanes > most_lanes_written_out) return false;
  return a.mask == nullptr || (a.offsets != nullptr && a.stride == nullptr);
}

Value* load_written_out(function_emitter& f, const lane_access& a) {
  auto& b = f.build;
  written_out_addresses addresses(f, a);
  Value* lanes = PoisonValue::get(widen(a.element, a.lanes));
  for (std::uint64_t k = 0; k < static_cast<std::uint64_t>(a.lanes); ++k)
    lanes = b.CreateInsertElement(lanes, b.CreateAlignedLoad(a.element, addresses.of(k), a.align), number(b, k));
  return lanes;
}

bool goes_by_lane(const function_emitter& f, int lanes) {
  return !f.m.target.vectors.mask_registers && lanes > tuning::emit::most_written_out;
}

Value* load_by_lane(function_emitter& f, const lane_access& a) {
  auto& b = f.build;
  Type* const type = widen(a.element, a.lanes);
  AllocaInst* const copy = f.stack_slot(type, "lanes");
  if (a.count != nullptr) b.CreateStore(Constant::getNullValue(type), copy);
  for_each_lane(f, a, [&](Value* lane, Value* address) {
    b.CreateStore(b.CreateAlignedLoad(a.element, address, a.align), b.CreateGEP(a.element, copy, lane));
  });
  return b.CreateLoad(type, copy);
}

void store_by_lane(function_emitter& f, const lane_access& a, Value* bits) {
  auto& b = f.build;
  AllocaInst* const copy = f.stack_slot(bits->getType(), "lanes");
  b.CreateStore(bits, copy);
  for_each_lane(f, a, [&](Value* lane, Value* address) {
    b.CreateAlignedStore(b.CreateLoad(a.element, b.CreateGEP(a.element, copy, lane)), address, a.align);
  });
}

}  // namespace sheaf::inline v0_1::llvm_backend
