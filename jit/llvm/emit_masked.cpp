// Loads and stores of consecutive lanes under a mask, where the processor has instructions for them.
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

}  // namespace sheaf::inline v0_1::llvm_backend
