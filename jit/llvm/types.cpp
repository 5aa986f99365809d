// How elements are held in registers and in memory, and the casts between them.
// f16 and bf16 are held as f32 and rounded, half to even, when stored or cast to. Both roundings are written out in
// integer operations where the processor's own differ between widths (AVX512-BF16 flushes subnormals) or do not exist
// (no F16C).
#include <algorithm>
#include <cmath>

#include <llvm/IR/Intrinsics.h>

#include <sheaf/jit/llvm/emitter.hpp>

namespace sheaf::inline v0_1::llvm_backend {

using namespace llvm;

Type* held_type(LLVMContext& c, element type) {
  switch (type) {
    case element::boolean:
      return Type::getInt1Ty(c);
    case element::i8:
    case element::u8:
      return Type::getInt8Ty(c);
    case element::i16:
    case element::u16:
      return Type::getInt16Ty(c);
    case element::i32:
    case element::u32:
      return Type::getInt32Ty(c);
    case element::i64:
    case element::u64:
      return Type::getInt64Ty(c);
    case element::f16:
    case element::bf16:
    case element::f32:
      return Type::getFloatTy(c);
    case element::f64:
      return Type::getDoubleTy(c);
  }
  throw compile_error("an element type that is none");
}

Type* stored_type(LLVMContext& c, element type) {
  if (type == element::boolean) return Type::getInt8Ty(c);
  if (is_half(type)) return Type::getInt16Ty(c);
  return held_type(c, type);
}

Type* widen(Type* scalar, int lanes) {
  return lanes ? FixedVectorType::get(scalar, static_cast<unsigned>(lanes)) : scalar;
}

Type* like(Value* shape, Type* scalar) {
  const auto* vector = dyn_cast<FixedVectorType>(shape->getType());
  return vector ? FixedVectorType::get(scalar, vector->getNumElements()) : scalar;
}

Value* splat(function_emitter& f, Value* x, int lanes) {
  return x->getType()->isVectorTy() || !lanes ? x : f.build.CreateVectorSplat(static_cast<unsigned>(lanes), x);
}

std::pair<Value*, Value*> halves(function_emitter& f, Value* whole) {
  const int half = static_cast<int>(cast<FixedVectorType>(whole->getType())->getNumElements()) / 2;
  std::vector<int> low, high;
  for (int k = 0; k < half; ++k) low.push_back(k), high.push_back(k + half);
  return {f.build.CreateShuffleVector(whole, low), f.build.CreateShuffleVector(whole, high)};
}

Constant* iota(LLVMContext& c, int bits, int lanes) {
  std::vector<Constant*> numbers;
  for (int k = 0; k < lanes; ++k)
    numbers.push_back(ConstantInt::get(Type::getIntNTy(c, static_cast<unsigned>(bits)), k));
  return ConstantVector::get(numbers);
}

namespace {

Constant* number(Value* shape, std::uint64_t n) { return ConstantInt::get(shape->getType(), n); }

// The 16 high bits of an f32, rounded half to even; a NaN keeps its sign and becomes quiet.
Value* round_bf16(function_emitter& f, Value* x) {
  auto& b = f.build;
  Value* bits = b.CreateBitCast(x, like(x, b.getInt32Ty()));
  Value* odd = b.CreateAnd(b.CreateLShr(bits, 16), number(bits, 1));
  Value* rounded = b.CreateLShr(b.CreateAdd(b.CreateAdd(bits, number(bits, 0x7fff)), odd), 16);
  Value* nan = b.CreateOr(b.CreateLShr(bits, 16), number(bits, 0x40));
  return b.CreateTrunc(b.CreateSelect(b.CreateFCmpUNO(x, x), nan, rounded), like(x, b.getInt16Ty()));
}

// f32 to f16 without F16C. Normal results: the exponent is rebased and the mantissa rounded in integers. Subnormal
// ones: adding 0.5 leaves exactly the bits to keep at the end of the mantissa, rounded by the addition.
Value* round_f16(function_emitter& f, Value* x) {
  auto& b = f.build;
  Type* const i16s = like(x, b.getInt16Ty());
  if (f.m.target.f16c) return b.CreateBitCast(b.CreateFPTrunc(x, like(x, b.getHalfTy())), i16s);
  Value* bits = b.CreateBitCast(x, like(x, b.getInt32Ty()));
  Value* sign = b.CreateAnd(bits, number(bits, 0x80000000u));
  Value* size = b.CreateXor(bits, sign);
  Value* odd = b.CreateAnd(b.CreateLShr(size, 13), number(size, 1));
  Value* normal = b.CreateAdd(b.CreateAdd(size, number(size, 0xc8000fffu)), odd);
  normal = b.CreateLShr(normal, 13);
  Value* half = b.CreateFAdd(b.CreateBitCast(size, x->getType()), ConstantFP::get(x->getType(), 0.5));
  Value* small = b.CreateSub(b.CreateBitCast(half, bits->getType()), number(bits, 0x3f000000u));
  Value* result = b.CreateSelect(b.CreateICmpULT(size, number(size, 113u << 23)), small, normal);
  Value* special =
      b.CreateSelect(b.CreateICmpUGT(size, number(size, 255u << 23)), number(size, 0x7e00), number(size, 0x7c00));
  result = b.CreateSelect(b.CreateICmpUGE(size, number(size, 143u << 23)), special, result);
  return b.CreateTrunc(b.CreateOr(result, b.CreateLShr(sign, 16)), i16s);
}

// f16 to f32 without F16C: shift into place, rebase the exponent by a multiplication (exact, also for subnormals).
Value* expand_f16(function_emitter& f, Value* x) {
  auto& b = f.build;
  if (f.m.target.f16c) return b.CreateFPExt(b.CreateBitCast(x, like(x, b.getHalfTy())), like(x, b.getFloatTy()));
  Value* wide = b.CreateZExt(x, like(x, b.getInt32Ty()));
  Value* sign = b.CreateShl(b.CreateAnd(wide, number(wide, 0x8000)), 16);
  Value* size = b.CreateShl(b.CreateAnd(wide, number(wide, 0x7fff)), 13);
  Type* const floats = like(x, b.getFloatTy());
  Value* finite = b.CreateFMul(b.CreateBitCast(size, floats), ConstantFP::get(floats, 0x1p112));
  Value* special = b.CreateOr(size, number(size, 255u << 23));
  Value* result = b.CreateSelect(b.CreateICmpUGE(size, number(size, 0x7c00u << 13)), special,
                                 b.CreateBitCast(finite, wide->getType()));
  return b.CreateBitCast(b.CreateOr(result, sign), floats);
}

// Saturated at the ends of the type; NaN becomes 0. Of vectors by comparisons: LLVM 19 takes fptosi.sat of lanes apart,
// one by one. What is out of range is poison where it is converted, and is not chosen.
Value* float_to_integer(function_emitter& f, element to, Value* x) {
  auto& b = f.build;
  Type* const type = like(x, held_type(b.getContext(), to));
  const bool is_signed = !is_unsigned(to);
  if (!type->isVectorTy())
    return b.CreateIntrinsic(is_signed ? Intrinsic::fptosi_sat : Intrinsic::fptoui_sat, {type, x->getType()}, {x});
  const unsigned bits = type->getScalarSizeInBits(), wide = std::max(bits, 32U);
  Type* const converted = like(x, b.getIntNTy(wide));
  const auto chosen = [&](Value* holds, Value* n, const APInt& other) {
    return b.CreateSelect(holds, n, ConstantInt::get(converted, is_signed ? other.sext(wide) : other.zext(wide)));
  };
  const auto real = [&](int power) { return ConstantFP::get(x->getType(), std::ldexp(1.0, power)); };
  const int digits = static_cast<int>(is_signed ? bits - 1 : bits);
  Value* n = is_signed ? b.CreateFPToSI(x, converted) : b.CreateFPToUI(x, converted);
  n = chosen(b.CreateFCmpULT(x, real(digits)), n,
             is_signed ? APInt::getSignedMaxValue(bits) : APInt::getMaxValue(bits));
  if (is_signed) n = chosen(b.CreateFCmpUGE(x, b.CreateFNeg(real(digits))), n, APInt::getSignedMinValue(bits));
  Constant* const zero = Constant::getNullValue(x->getType());
  n = chosen(is_signed ? b.CreateFCmpORD(x, zero) : b.CreateFCmpOGE(x, zero), n, APInt(bits, 0));
  return b.CreateTrunc(n, type);
}

}  // namespace

Value* from_memory(function_emitter& f, element type, Value* bits) {
  auto& b = f.build;
  switch (type) {
    case element::boolean:
      return b.CreateICmpNE(bits, Constant::getNullValue(bits->getType()));
    case element::f16:
      return expand_f16(f, bits);
    case element::bf16:
      return b.CreateBitCast(b.CreateShl(b.CreateZExt(bits, like(bits, b.getInt32Ty())), 16),
                             like(bits, b.getFloatTy()));
    default:
      return bits;
  }
}

Value* to_memory(function_emitter& f, element type, Value* held) {
  switch (type) {
    case element::boolean:
      return f.build.CreateZExt(held, like(held, f.build.getInt8Ty()));
    case element::f16:
      return round_f16(f, held);
    case element::bf16:
      return round_bf16(f, held);
    default:
      return held;
  }
}

Value* emit_cast(function_emitter& f, element from, element to, Value* x) {
  auto& b = f.build;
  if (from == to) return x;
  Type* const type = like(x, held_type(b.getContext(), to));
  if (to == element::boolean) {
    Constant* const zero = Constant::getNullValue(x->getType());
    return is_floating(from) ? b.CreateFCmpUNE(x, zero) : b.CreateICmpNE(x, zero);
  }
  const bool is_signed = from != element::boolean && !is_unsigned(from);
  if (is_floating(to)) {
    Value* y = is_floating(from) ? b.CreateFPCast(x, type)
               : is_signed       ? b.CreateSIToFP(x, type)
                                 : b.CreateUIToFP(x, type);
    return is_half(to) ? from_memory(f, to, to_memory(f, to, y)) : y;
  }
  if (is_floating(from)) return float_to_integer(f, to, x);
  return is_signed ? b.CreateSExtOrTrunc(x, type) : b.CreateZExtOrTrunc(x, type);
}

}  // namespace sheaf::inline v0_1::llvm_backend
