// Division of many lanes by one number, in three multiply-adds. With AVX-512 a division instruction takes ten to
// sixteen cycles for a register (of 256 bits five to eight, as long as what stands here, so there it is taken). Where
// the divisor is one number, its reciprocal is known, and Markstein's theorem gives the same bits: with r the
// correctly rounded reciprocal of b, and q within one unit in the last place of a / b, q + r (a - b q), rounded once,
// is a / b correctly rounded (P. Markstein, Computation of elementary functions on the IBM RISC System/6000 processor,
// IBM J. Res. Dev. 34 (1990), theorem 8). a r may be one and a half units away, so f64 takes the step twice: the first
// brings it within one. In f32 one step is enough: it can only go wrong where a / b is within 24 / (2 b) units of a
// middle between two numbers, b as an integer of 24 bits, and all such pairs were tried (tests/jit/division.cpp tries
// a part of them). Nothing may overflow, and a - b q must be exact: divisor and lanes within a window of exponents.
// Registers with a lane outside it, zeros, infinities and NaN among them, are divided by the instruction.
#include <llvm/IR/MDBuilder.h>

#include <sheaf/jit/llvm/math.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::llvm_backend {

using namespace llvm;

namespace {

struct division_math : real_math {
  using real_math::real_math;

  // Where the quotient of two such numbers, and what is left of it, are normal numbers: between 1 / limit and the
  // limit.
  double limit() const { return is_double ? 0x1p400 : 0x1p60; }
  Value* all_within_window(Value* x, Value* divisor) const {
    Value* const size = b.CreateUnaryIntrinsic(Intrinsic::fabs, divisor);
    Value* const usual = b.CreateAnd(b.CreateFCmpOGT(size, ConstantFP::get(divisor->getType(), 1 / limit())),
                                     b.CreateFCmpOLT(size, ConstantFP::get(divisor->getType(), limit())));
    Type* const lane = ints->getScalarType();
    const std::uint64_t begin = unsigned_bits(1 / limit());
    Constant* const width = ConstantInt::get(lane, unsigned_bits(limit()) - begin);
    Value* const above =
        largest(b.CreateSub(unsigned_bits(x), integer(begin)));  // what is below the window is far above
    const auto lanes = cast<FixedVectorType>(above->getType())->getNumElements();
    Value* const most = b.CreateSelect(usual, width, ConstantInt::get(lane, 0));
    return none_of(b.CreateICmpUGE(above, splat(f, most, static_cast<int>(lanes))));
  }
  Value* by_reciprocal(Value* a, Value* divisor, Value* reciprocal) const {
    Value* q = mul(a, reciprocal);
    for (int step = 0; step < (is_double ? 2 : 1); ++step) q = fma(fma(negated(q), divisor, a), reciprocal, q);
    return q;
  }
};

}  // namespace

Value* emit_division_by_one(function_emitter& f, Value* a, Value* divisor) {
  const division_math m(f, a);
  auto& b = f.build;
  if (!f.m.target.vectors.slow_division || f.lanes < tuning::emit::least_divided)
    return b.CreateFDiv(a, splat(f, divisor, f.lanes));
  Value* const reciprocal = splat(f, b.CreateFDiv(ConstantFP::get(divisor->getType(), 1), divisor), f.lanes);
  Value* const all = m.all_within_window(a, divisor);
  auto* const near = BasicBlock::Create(b.getContext(), "divide.near", f.function);
  auto* const far = BasicBlock::Create(b.getContext(), "divide.far", f.function);
  auto* const done = BasicBlock::Create(b.getContext(), "divide.done", f.function);
  b.CreateCondBr(all, near, far, MDBuilder(b.getContext()).createBranchWeights(1000, 1));
  b.SetInsertPoint(near);
  Value* const product = m.by_reciprocal(a, splat(f, divisor, f.lanes), reciprocal);
  b.CreateBr(done);
  b.SetInsertPoint(far);
  Value* const quotient = b.CreateFDiv(a, splat(f, divisor, f.lanes));
  b.CreateBr(done);
  b.SetInsertPoint(done);
  PHINode* const result = b.CreatePHI(a->getType(), 2);
  result->addIncoming(product, near);
  result->addIncoming(quotient, far);
  return result;
}

// Places divided by one number, in floating arithmetic that is exact: below 2^51 lanes, quotients and what is left of
// them are whole numbers of f64, the product with the reciprocal is off by less than one, and adding 1.5 * 2^52 puts a
// whole number into the low bits. Other numbers go lane by lane.
Value* emit_place_division(function_emitter& f, Value* a, Value* divisor, bool remainder,
                           function_ref<Value*()> other) {
  auto& b = f.build;
  constexpr std::int64_t limit = std::int64_t{1} << 51, magic = 0x4338000000000000;
  Type* const ints = a->getType();
  Type* const reals = FixedVectorType::get(b.getDoubleTy(), static_cast<unsigned>(f.lanes));
  const auto whole = [&](std::int64_t n) { return ConstantInt::get(ints, static_cast<std::uint64_t>(n)); };
  Constant* const shifter = ConstantFP::get(reals, 0x1.8p52);
  Value* const beyond = b.CreateICmpUGE(b.CreateAdd(a, whole(limit)), whole(2 * limit));
  Value* const usual = b.CreateICmpULT(b.CreateSub(divisor, b.getInt64(1)), b.getInt64(limit - 1));
  auto* const near = BasicBlock::Create(b.getContext(), "places.near", f.function);
  auto* const far = BasicBlock::Create(b.getContext(), "places.far", f.function);
  auto* const done = BasicBlock::Create(b.getContext(), "places.done", f.function);
  b.CreateCondBr(b.CreateAnd(usual, b.CreateNot(b.CreateOrReduce(beyond))), near, far,
                 MDBuilder(b.getContext()).createBranchWeights(1000, 1));
  b.SetInsertPoint(near);
  Value* const by = b.CreateSIToFP(divisor, b.getDoubleTy());
  Value* const d = splat(f, by, f.lanes);
  Value* const reciprocal = splat(f, b.CreateFDiv(ConstantFP::get(b.getDoubleTy(), 1), by), f.lanes);
  Value* const n = b.CreateFSub(b.CreateBitCast(b.CreateAdd(a, whole(magic)), reals), shifter);
  Value* q = b.CreateUnaryIntrinsic(Intrinsic::floor, b.CreateFMul(n, reciprocal));
  Value* r = b.CreateFSub(n, b.CreateFMul(q, d));
  Value *const below = b.CreateFCmpOLT(r, ConstantFP::get(reals, 0)), *const above = b.CreateFCmpOGE(r, d);
  const auto moved = [&](Value* x, Value* by_one, bool up) {
    Value* const less = up ? b.CreateFAdd(x, by_one) : b.CreateFSub(x, by_one);
    Value* const more = up ? b.CreateFSub(x, by_one) : b.CreateFAdd(x, by_one);
    return b.CreateSelect(below, less, b.CreateSelect(above, more, x));
  };
  Value* const x = remainder ? moved(r, d, true) : moved(q, ConstantFP::get(reals, 1), false);
  Value* const exact = b.CreateSub(b.CreateBitCast(b.CreateFAdd(x, shifter), ints), whole(magic));
  b.CreateBr(done);
  b.SetInsertPoint(far);
  Value* const slow = other();
  BasicBlock* const end = b.GetInsertBlock();
  b.CreateBr(done);
  b.SetInsertPoint(done);
  PHINode* const result = b.CreatePHI(ints, 2);
  result->addIncoming(exact, near);
  result->addIncoming(slow, end);
  return result;
}

}  // namespace sheaf::inline v0_1::llvm_backend
