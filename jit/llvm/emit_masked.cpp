// Loads and stores of consecutive lanes under a mask, where the processor has instructions for them. Where it has them
// for elements of 4 bytes alone, the first few of 2 bytes are whole pairs, and the last one by itself.
//
// LLVM widens a masked access of 8 bytes to the 16 of a register, and its mask by a kmovb. It also takes kmovb for a
// plain copy (isMoveReg of KMOVBkk, LLVM 19), and where registers are short reads the mask from before it: what its
// upper bits hold, a comparison of bytes say, is then loaded and stored beyond the lanes. A mask that is widened as a
// vector of bytes has zeros there whoever copies it. Shown by tests/text/forbidden_pages.cpp.
#include <numeric>

#include <sheaf/jit/llvm/emitter.hpp>

namespace sheaf::inline v0_1::llvm_backend {

using namespace llvm;

namespace {

constexpr unsigned register_bytes = 16;

bool widens_mask(const function_emitter& f, Type* type) {
  return f.m.target.vectors.mask_registers && 2 * type->getPrimitiveSizeInBits() == 8 * register_bytes &&
         type->getScalarSizeInBits() == 8;
}

Value* in_register(builder& b, Value* narrow, Constant* rest) {
  std::vector<int> lanes(register_bytes, register_bytes / 2);
  std::iota(lanes.begin(), lanes.begin() + register_bytes / 2, 0);
  return b.CreateShuffleVector(narrow, rest, lanes);
}

Value* wide_mask(builder& b, Value* mask) {
  Type* const bytes = FixedVectorType::get(b.getInt8Ty(), register_bytes / 2);
  Value* const wide = in_register(b, b.CreateSExt(mask, bytes), Constant::getNullValue(bytes));
  return b.CreateICmpSLT(wide, Constant::getNullValue(wide->getType()));
}

}  // namespace

Value* masked_load(function_emitter& f, Type* type, Value* address, Align align, Value* mask) {
  auto& b = f.build;
  if (!widens_mask(f, type)) return b.CreateMaskedLoad(type, address, align, mask, Constant::getNullValue(type));
  Type* const wide = FixedVectorType::get(type->getScalarType(), register_bytes);
  Value* const all = b.CreateMaskedLoad(wide, address, align, wide_mask(b, mask), Constant::getNullValue(wide));
  return b.CreateShuffleVector(all, {0, 1, 2, 3, 4, 5, 6, 7});
}

void masked_store(function_emitter& f, Value* bits, Value* address, Align align, Value* mask) {
  auto& b = f.build;
  if (!widens_mask(f, bits->getType())) return void(b.CreateMaskedStore(bits, address, align, mask));
  Value* const wide = in_register(b, bits, PoisonValue::get(bits->getType()));
  b.CreateMaskedStore(wide, address, align, wide_mask(b, mask));
}

bool masks_pairs(const function_emitter& f, int bytes, int lanes) {
  return bytes == 2 && f.m.target.vectors.least_masked == 2 * bytes && lanes >= 4;
}

namespace {

// Of so many elements of 2 bytes the whole pairs, and where the last one is.
struct pairs {
  Type *element, *type;
  Value *live, *last;
};
pairs pairs_of(function_emitter& f, int lanes, Value* count) {
  auto& b = f.build;
  Value* const whole = b.CreateTrunc(b.CreateLShr(count, 1), b.getInt32Ty());
  return {.element = b.getInt16Ty(), .type = FixedVectorType::get(b.getInt32Ty(), static_cast<unsigned>(lanes / 2)),
          .live = b.CreateICmpULT(iota(b.getContext(), 32, lanes / 2), splat(f, whole, lanes / 2)),
          .last = b.CreateSub(count, b.getInt64(1))};
}

}  // namespace

Value* load_pairs(function_emitter& f, Type* type, Value* address, Align align, Value* count) {
  auto& b = f.build;
  const auto lanes = static_cast<int>(cast<FixedVectorType>(type)->getNumElements());
  const pairs p = pairs_of(f, lanes, count);
  Value* const all = b.CreateMaskedLoad(p.type, address, align, p.live, Constant::getNullValue(p.type));
  Value* const last = b.CreateAlignedLoad(p.element, b.CreateGEP(p.element, address, p.last), align);
  Value* const at = splat(f, b.CreateTrunc(p.last, p.element), lanes);
  Value* const is_last = b.CreateICmpEQ(iota(b.getContext(), 16, lanes), at);
  Value* const words = b.CreateBitCast(all, FixedVectorType::get(p.element, static_cast<unsigned>(lanes)));
  return b.CreateBitCast(b.CreateSelect(is_last, splat(f, last, lanes), words), type);
}

void store_pairs(function_emitter& f, Value* bits, Value* address, Align align, Value* count) {
  auto& b = f.build;
  const auto lanes = static_cast<int>(cast<FixedVectorType>(bits->getType())->getNumElements());
  const pairs p = pairs_of(f, lanes, count);
  AllocaInst* const copy = f.stack_slot(bits->getType(), "copy");
  b.CreateStore(bits, copy);
  b.CreateMaskedStore(b.CreateBitCast(bits, p.type), address, align, p.live);
  Value* const last = b.CreateAlignedLoad(p.element, b.CreateGEP(p.element, copy, p.last), align);
  b.CreateAlignedStore(last, b.CreateGEP(p.element, address, p.last), align);
}

}  // namespace sheaf::inline v0_1::llvm_backend
