// Lanes that are apart in memory, where the processor has no instruction for them: LLVM would write each lane out, its
// address computed in vectors and taken apart again, 25 bytes and more a lane. A loop over the lanes goes through the
// stack instead. Shown by tests/jit/by_lane.cpp, and by all tests that run on_processors.
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
