// Loads and stores of consecutive lanes under a mask, where the processor has instructions for them. Where it has them
// for elements of 4 bytes alone, the first few of 2 bytes are loaded as whole pairs, and the last one by itself. Where
// masks have no registers of their own, the first few of any size are stored in parts.
//
// LLVM widens a masked access of 8 bytes to the 16 of a register, and its mask by a kmovb. It also takes kmovb for a
// plain copy (isMoveReg of KMOVBkk, LLVM 19), and where registers are short reads the mask from before it: what its
// upper bits hold, a comparison of bytes say, is then loaded and stored beyond the lanes. A mask that is widened as a
// vector of bytes has zeros there whoever copies it. Shown by tests/text/forbidden_pages.cpp.
#include <bit>
#include <numeric>

#include <llvm/IR/DebugInfoMetadata.h>

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

namespace {

// The first bytes of a vector, which also lies on the stack.
struct prefix {
  Value *vector, *copy, *address, *bytes;
  Align align;
  int element;
};

// The builder goes on in a new block, where at least so many bytes live; elsewhere `fewer` does.
void where_at_least(function_emitter& f, const prefix& p, int bytes, BasicBlock* fewer) {
  auto& b = f.build;
  auto* const some = BasicBlock::Create(b.getContext(), "prefix.some", f.function);
  b.CreateCondBr(b.CreateICmpUGE(p.bytes, b.getInt64(static_cast<std::uint64_t>(bytes))), some, fewer);
  b.SetInsertPoint(some);
}

void store_part(function_emitter& f, const prefix& p, int at, int bytes) {
  auto& b = f.build;
  std::vector<int> lanes(static_cast<std::size_t>(bytes / p.element));
  std::iota(lanes.begin(), lanes.end(), at / p.element);
  Value* const to = b.CreateGEP(b.getInt8Ty(), p.address, b.getInt64(static_cast<std::uint64_t>(at)));
  b.CreateAlignedStore(b.CreateShuffleVector(p.vector, lanes), to, p.align);
}

// The last so many bytes of those that live.
void store_last(function_emitter& f, const prefix& p, int bytes) {
  auto& b = f.build;
  Type* const type = FixedVectorType::get(b.getInt8Ty(), static_cast<unsigned>(bytes));
  Value* const from = b.CreateSub(p.bytes, b.getInt64(static_cast<std::uint64_t>(bytes)));
  Value* const last = b.CreateAlignedLoad(type, b.CreateGEP(b.getInt8Ty(), p.copy, from), p.align);
  b.CreateAlignedStore(last, b.CreateGEP(b.getInt8Ty(), p.address, from), p.align);
}

}  // namespace

// Whole registers, then the last bytes of a register's size, some of them again; of less than a register the first and
// the last half, or quarter, and so on. A masked store would do it in one, but where masks have no registers of their
// own processors let it wait for the stores before it: a map of rows with masked ends took twice its time from memory
// on a Zen 3.
void store_prefix(function_emitter& f, Value* vector, Value* address, Align align, Value* count) {
  auto& b = f.build;
  auto* const type = cast<FixedVectorType>(vector->getType());
  const int element = static_cast<int>(type->getScalarSizeInBits()) / 8;
  const int size = element * static_cast<int>(type->getNumElements()), whole = f.m.target.vectors.register_bytes;
  const prefix p{.vector = vector, .copy = f.stack_slot(type, "copy"), .address = address,
                 .bytes = b.CreateMul(count, b.getInt64(static_cast<std::uint64_t>(element))), .align = align,
                 .element = element};
  b.CreateStore(vector, p.copy);
  // A debugger stops at the lowest address of a line, which would be one of the parts: they are of none.
  const DebugLoc line = b.getCurrentDebugLocation();
  if (line) b.SetCurrentDebugLocation(DILocation::get(b.getContext(), 0, 0, line.getScope()));
  auto* const rest = BasicBlock::Create(b.getContext(), "prefix.rest", f.function);
  for (int at = 0; at + whole <= size; at += whole) {
    where_at_least(f, p, at + whole, rest);
    store_part(f, p, at, whole);
  }
  b.CreateBr(rest);
  b.SetInsertPoint(rest);
  auto* const done = BasicBlock::Create(b.getContext(), "prefix.done", f.function);
  for (int part = std::min(whole, static_cast<int>(std::bit_floor(static_cast<unsigned>(size)))); part > element;
       part /= 2) {
    auto* const fewer = BasicBlock::Create(b.getContext(), "prefix.fewer", f.function);
    where_at_least(f, p, part, fewer);
    if (part < whole) store_part(f, p, 0, part);
    store_last(f, p, part);
    b.CreateBr(done);
    b.SetInsertPoint(fewer);
  }
  store_part(f, p, 0, element);
  b.CreateBr(done);
  b.SetInsertPoint(done);
  b.SetCurrentDebugLocation(line);
}

}  // namespace sheaf::inline v0_1::llvm_backend
