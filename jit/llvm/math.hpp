// Arithmetic on f32 or f64, scalar or one vector register, that reads like the formula. Private header of math*.cpp.
#pragma once
#include <llvm/IR/Intrinsics.h>

#include <sheaf/jit/llvm/emitter.hpp>

namespace sheaf::inline v0_1::llvm_backend {

struct real_math {
  real_math(function_emitter& owner, llvm::Value* shape)
      : f(owner),
        b(owner.build),
        reals(shape->getType()),
        is_double(reals->getScalarType()->isDoubleTy()),
        ints(like(shape, is_double ? b.getInt64Ty() : b.getInt32Ty())) {}

  function_emitter& f;
  builder& b;
  llvm::Type* reals;
  bool is_double;
  llvm::Type* ints;

  unsigned digits() const { return is_double ? 52 : 23; }  // after the point
  std::uint64_t bias() const { return is_double ? 1023 : 127; }

  llvm::Constant* real(double x) const { return llvm::ConstantFP::get(reals, x); }
  llvm::Constant* integer(std::uint64_t x) const { return llvm::ConstantInt::get(ints, x); }
  llvm::Constant* infinity() const { return llvm::ConstantFP::getInfinity(reals); }
  llvm::Constant* nan() const { return llvm::ConstantFP::getNaN(reals); }
  llvm::Value* bits(llvm::Value* x) const { return b.CreateBitCast(x, ints); }
  llvm::Value* unbits(llvm::Value* x) const { return b.CreateBitCast(x, reals); }
  llvm::Value* add(llvm::Value* x, llvm::Value* y) const { return b.CreateFAdd(x, y); }
  llvm::Value* sub(llvm::Value* x, llvm::Value* y) const { return b.CreateFSub(x, y); }
  llvm::Value* mul(llvm::Value* x, llvm::Value* y) const { return b.CreateFMul(x, y); }
  llvm::Value* div(llvm::Value* x, llvm::Value* y) const { return b.CreateFDiv(x, y); }
  llvm::Value* negated(llvm::Value* x) const { return b.CreateFNeg(x); }
  llvm::Value* fma(llvm::Value* x, llvm::Value* y, llvm::Value* z) const {
    return f.m.target.fma ? b.CreateIntrinsic(llvm::Intrinsic::fma, {reals}, {x, y, z}) : add(mul(x, y), z);
  }
  llvm::Value* less(llvm::Value* x, llvm::Value* y) const { return b.CreateFCmpOLT(x, y); }
  llvm::Value* more(llvm::Value* x, llvm::Value* y) const { return b.CreateFCmpOGT(x, y); }
  llvm::Value* equal(llvm::Value* x, llvm::Value* y) const { return b.CreateFCmpOEQ(x, y); }
  llvm::Value* select(llvm::Value* where, llvm::Value* x, llvm::Value* y) const { return b.CreateSelect(where, x, y); }
  // Without the sign, as an integer of twice the size; NaN is above all.
  llvm::Value* unsigned_bits(llvm::Value* x) const { return b.CreateShl(bits(x), 1); }
  std::uint64_t unsigned_bits(double x) const {
    const llvm::Constant* const number = llvm::ConstantFP::get(reals->getScalarType(), x);
    return llvm::cast<llvm::ConstantFP>(number)->getValueAPF().bitcastToAPInt().getZExtValue() * 2;
  }
  // One register with the largest of such integers of all registers, lane by lane.
  llvm::Value* largest(llvm::Value* x) const {
    while (f.m.module.getDataLayout().getTypeStoreSize(x->getType()) >
           static_cast<unsigned>(f.m.target.vectors.register_bytes)) {
      const auto [low, high] = halves(f, x);
      x = b.CreateBinaryIntrinsic(llvm::Intrinsic::umax, low, high);
    }
    return x;
  }
  llvm::Value* none_of(llvm::Value* lanes) const {  // <n x i1>
    const auto n = llvm::cast<llvm::FixedVectorType>(lanes->getType())->getNumElements();
    return b.CreateIsNull(b.CreateBitCast(lanes, b.getIntNTy(n)));
  }
  // Of these two, NaN in x stays NaN.
  llvm::Value* at_most(llvm::Value* x, double limit) const { return select(more(x, real(limit)), real(limit), x); }
  llvm::Value* at_least(llvm::Value* x, double limit) const { return select(less(x, real(limit)), real(limit), x); }
  llvm::Value* magnitude(llvm::Value* x) const { return b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x); }
  llvm::Value* sqrt(llvm::Value* x) const { return b.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x); }
  llvm::Value* floor(llvm::Value* x) const { return b.CreateUnaryIntrinsic(llvm::Intrinsic::floor, x); }
  llvm::Value* with_sign_of(llvm::Value* x, llvm::Value* sign) const {
    return b.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, x, sign);
  }
  // c[0] + c[1] x + c[2] x^2 + ...
  llvm::Value* polynomial(llvm::Value* x, std::initializer_list<double> c) const {
    auto next = std::rbegin(c);
    llvm::Value* sum = real(*next);
    while (++next != std::rend(c)) sum = fma(sum, x, real(*next));
    return sum;
  }
  // 2^n for an integer n whose power is a normal number.
  llvm::Value* power_of_two(llvm::Value* n) const {
    return unbits(b.CreateShl(b.CreateAdd(n, integer(bias())), digits()));
  }

  struct multiple {
    llvm::Value* n;      // integer
    llvm::Value* whole;  // the same, as a floating number
    llvm::Value* moved;  // integer: n + offset, below zeros that are shifted out where it becomes an exponent
  };
  // The integer nearest to x * factor. Adding 1.5 * 2^digits rounds to it and leaves it in the low bits: no
  // conversion, so NaN is harmless. offset: even, or halves would round to odd numbers.
  multiple nearest(llvm::Value* x, double factor, std::uint64_t offset = 0) const {
    const double shift = (is_double ? 0x1.8p52 : 0x1.8p23) + static_cast<double>(offset);
    llvm::Value* shifted = fma(x, real(factor), real(shift));
    llvm::Value* moved = bits(shifted);
    return {b.CreateSub(moved, integer((is_double ? 0x4338000000000000 : 0x4b400000) + offset)),
            sub(shifted, real(shift)), moved};
  }

  struct reduced {
    llvm::Value* n;
    llvm::Value* whole;
    llvm::Value* moved;
    llvm::Value* r;  // x - n log 2, within half a log 2
  };
  // log 2 in two parts, the first short enough that its product with n is exact (W. J. Cody and W. Waite, 1980).
  double log2_high() const { return is_double ? 0x1.62e42feep-1 : 0x1.62e4p-1; }
  double log2_low() const { return is_double ? 0x1.a39ef35793c76p-33 : 0x1.7f7d1cf79abcap-20; }
  reduced by_log2(llvm::Value* x, std::uint64_t offset = 0) const {
    const multiple m = nearest(x, is_double ? 0x1.71547652b82fep+0 : 0x1.715476p+0, offset);
    return {m.n, m.whole, m.moved, fma(m.whole, real(-log2_low()), fma(m.whole, real(-log2_high()), x))};
  }

  struct split {
    llvm::Value* moved;  // the exponent where a number has it
    llvm::Value* power;  // the same, as a floating number
  };
  // The exponent that leaves a mantissa in [sqrt(1/2), sqrt(2)). AVX2 has neither arithmetic shifts nor conversions of
  // 64 bits: there the exponent is made positive first, and put into the mantissa of 2^52.
  split exponent(llvm::Value* x) const {
    if (!is_double) {
      llvm::Value* e = b.CreateAShr(b.CreateSub(bits(x), integer(0x3f3504f3)), 23);
      return {b.CreateShl(e, 23), b.CreateSIToFP(e, reals)};
    }
    llvm::Value* e = b.CreateAdd(bits(x), integer(0x4000000000000000 - 0x3fe6a09e667f3bcd));
    llvm::Value* moved = b.CreateSub(b.CreateAnd(e, integer(0xfff0000000000000)), integer(0x4000000000000000));
    return {moved, sub(unbits(b.CreateOr(b.CreateLShr(e, 52), integer(0x4330000000000000))), real(0x1p52 + 1024))};
  }

  // math.cpp: y 2^n by the instruction that AVX-512 has for it, which rounds once as two exact factors do; null where
  // there is none.
  llvm::Value* scale(llvm::Value* y, llvm::Value* n) const;
  llvm::Value* scaled(llvm::Value* y, const reduced& by) const;  // the same by any processor; offset: two biases
  llvm::Value* exp(llvm::Value* x) const;
  // Of |x| < near_exponent(), where 2^n and the result are normal numbers.
  llvm::Value* exp_of_near(llvm::Value* x) const;
  double near_exponent() const { return is_double ? 700 : 86; }
  llvm::Value* exp_of_rest(llvm::Value* r) const {  // e^r for r within half a log 2
    return add(fma(mul(r, r), exp_tail(r), r), real(1));
  }
  llvm::Value* exp_tail(llvm::Value* r) const;  // (e^r - 1 - r) / r^2 for such an r
  llvm::Value* expm1(llvm::Value* x) const;
  llvm::Value* sigmoid(llvm::Value* x) const;
  llvm::Value* tanh(llvm::Value* x) const;
  llvm::Value* sinh(llvm::Value* x) const;
  llvm::Value* cosh(llvm::Value* x) const;
  llvm::Value* erf(llvm::Value* x) const;
  // math_logarithm.cpp
  llvm::Value* log(llvm::Value* x) const;
  llvm::Value* log1p(llvm::Value* x) const;
  llvm::Value* asinh(llvm::Value* x) const;
  llvm::Value* acosh(llvm::Value* x) const;
  llvm::Value* atanh(llvm::Value* x) const;
  // math_trigonometric.cpp
  llvm::Value* sin(llvm::Value* x) const;
  llvm::Value* cos(llvm::Value* x) const;
  llvm::Value* tan(llvm::Value* x) const;
  // math_inverse.cpp
  llvm::Value* asin(llvm::Value* x) const;
  llvm::Value* acos(llvm::Value* x) const;
  llvm::Value* atan(llvm::Value* x) const;
};

// A register at a time, and the results side by side: the steps of sixteen registers would live on the stack.
llvm::Value* by_registers(function_emitter& f, std::span<llvm::Value* const> args,
                          llvm::function_ref<llvm::Value*(std::span<llvm::Value* const>)> make);

// math_power.cpp: for a register of f64, or of f32 that it computes in f64.
llvm::Value* emit_power(function_emitter& f, llvm::Value* x, llvm::Value* y);
// The same by a few products or a root, where y is a number that is 3, 4, 1/2 or -1; else null.
llvm::Value* emit_small_power(function_emitter& f, llvm::Value* x, const llvm::Value* y);

}  // namespace sheaf::inline v0_1::llvm_backend
