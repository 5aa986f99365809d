// f32 functions as plain vector IR. A call to a vector library would spill every accumulator, since no vector register
// survives a call on x86-64; these stay in registers, have no branches, and give the same bits in every lane, width and
// tail, AVX2 or AVX-512 (without FMA the last bit may differ). NaN gives NaN, overflow infinity, subnormals are kept.
// Coefficients: scripts/fit_math.py. Errors measured by tests/jit/math.cpp, in units of the last place:
// exp 1, log 1, expm1 2, log1p 2, sigmoid 2, tanh 3, erf 2.
#include <sheaf/jit/llvm/emitter.hpp>

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsX86.h>

namespace sheaf::llvm_backend {

using namespace llvm;

namespace {

// Arithmetic on f32, scalar or vector, that reads like the formula.
struct f32_math {
  function_emitter& f;
  builder& b;
  Type* floats;
  Type* ints;

  f32_math(function_emitter& owner, Value* shape)
      : f(owner), b(owner.build), floats(shape->getType()), ints(like(shape, owner.build.getInt32Ty())) {}

  Constant* real(double x) const { return ConstantFP::get(floats, x); }
  Constant* integer(std::uint32_t x) const { return ConstantInt::get(ints, x); }
  Value* bits(Value* x) const { return b.CreateBitCast(x, ints); }
  Value* unbits(Value* x) const { return b.CreateBitCast(x, floats); }
  Value* add(Value* x, Value* y) const { return b.CreateFAdd(x, y); }
  Value* sub(Value* x, Value* y) const { return b.CreateFSub(x, y); }
  Value* mul(Value* x, Value* y) const { return b.CreateFMul(x, y); }
  Value* div(Value* x, Value* y) const { return b.CreateFDiv(x, y); }
  Value* fma(Value* x, Value* y, Value* z) const {
    return f.m.target.fma ? b.CreateIntrinsic(Intrinsic::fma, {floats}, {x, y, z}) : add(mul(x, y), z);
  }
  // Of these two, NaN in x stays NaN.
  Value* at_most(Value* x, double limit) const {
    return b.CreateSelect(b.CreateFCmpOGT(x, real(limit)), real(limit), x);
  }
  Value* at_least(Value* x, double limit) const {
    return b.CreateSelect(b.CreateFCmpOLT(x, real(limit)), real(limit), x);
  }
  Value* magnitude(Value* x) const { return b.CreateUnaryIntrinsic(Intrinsic::fabs, x); }
  Value* with_sign_of(Value* x, Value* sign) const { return b.CreateBinaryIntrinsic(Intrinsic::copysign, x, sign); }
  // c[0] + c[1] x + c[2] x^2 + ...
  Value* polynomial(Value* x, std::initializer_list<double> c) const {
    auto next = std::rbegin(c);
    Value* sum = real(*next);
    while (++next != std::rend(c)) sum = fma(sum, x, real(*next));
    return sum;
  }
  // 2^n for an integer n in [-126, 127].
  Value* power_of_two(Value* n) const { return unbits(b.CreateShl(b.CreateAdd(n, integer(127)), 23)); }

  struct reduced {
    Value* n;      // integer
    Value* whole;  // the same, as a float
    Value* r;  // x - n log 2, within half a log 2
  };
  // Adding 1.5 * 2^23 rounds to an integer and leaves it in the low bits: no conversion, so NaN is harmless.
  reduced by_log2(Value* x) const {
    Value* shifted = fma(x, real(0x1.715476p+0), real(0x1.8p23));
    Value* n = b.CreateSub(bits(shifted), integer(0x4b400000));
    Value* whole = sub(shifted, real(0x1.8p23));
    // log 2 in two parts, the first short enough that its product with n is exact.
    return {n, whole, fma(whole, real(-0x1.7f7d1cf79abcap-20), fma(whole, real(-0x1.62e4p-1), x))};
  }

  // y 2^n by the instruction that AVX-512 has for it, which rounds once as two exact factors do; null where there is none.
  Value* scale(Value* y, Value* n) const {
    const auto* vector = dyn_cast<FixedVectorType>(floats);
    if (!f.m.target.avx512 || !vector) return nullptr;
    const unsigned lanes = vector->getNumElements(), width = std::min(lanes, 16u);
    const Intrinsic::ID names[] = {Intrinsic::x86_avx512_mask_scalef_ps_128, Intrinsic::x86_avx512_mask_scalef_ps_256,
                                   Intrinsic::x86_avx512_mask_scalef_ps_512};
    if (width < 4) return nullptr;
    Value* all = nullptr;
    for (unsigned at = 0; at < lanes; at += width) {
      std::vector<int> piece(width);
      for (unsigned k = 0; k < width; ++k) piece[k] = static_cast<int>(at + k);
      Value* a = lanes == width ? y : b.CreateShuffleVector(y, piece);
      Value* e = lanes == width ? n : b.CreateShuffleVector(n, piece);
      std::vector<Value*> args{a, e, Constant::getNullValue(a->getType()), b.getIntN(std::max(8u, width), width < 8 ? 15 : (1u << width) - 1)};
      if (width == 16) args.push_back(b.getInt32(4));  // rounding as the processor is set
      Value* part = b.CreateIntrinsic(names[width / 8], {}, args);
      if (lanes == width) return part;
      all = all ? append(all, part) : part;
    }
    return all;
  }
  // Lanes of a, then those of b.
  Value* append(Value* first, Value* second) const {
    const int n = static_cast<int>(cast<FixedVectorType>(first->getType())->getNumElements());
    const int m = static_cast<int>(cast<FixedVectorType>(second->getType())->getNumElements());
    std::vector<int> widened(static_cast<std::size_t>(n), -1), both(static_cast<std::size_t>(n + m));
    for (int k = 0; k < m; ++k) widened[static_cast<std::size_t>(k)] = k;
    Value* wide = n == m ? second : b.CreateShuffleVector(second, widened);
    for (int k = 0; k < n + m; ++k) both[static_cast<std::size_t>(k)] = k;
    return b.CreateShuffleVector(first, wide, both);
  }

  Value* exp(Value* x) const {
    const reduced by = by_log2(at_least(at_most(x, 89.0), -104.0));
    Value* p = polynomial(by.r, {0x1p-1, 0x1.55548ep-3, 0x1.55545ep-5, 0x1.123be8p-7, 0x1.6db494p-10});
    Value* y = add(fma(mul(by.r, by.r), p, by.r), real(1));
    if (Value* scaled = scale(y, by.whole)) return scaled;
    // In two factors, so that results reach infinity and the subnormals.
    Value* half = b.CreateAShr(by.n, 1);
    return mul(mul(y, power_of_two(half)), power_of_two(b.CreateSub(by.n, half)));
  }

  Value* expm1(Value* x) const {
    const reduced by = by_log2(at_least(at_most(x, 89.0), -20.0));
    Value* p = polynomial(by.r, {0x1p-1, 0x1.555556p-3, 0x1.55547ep-5, 0x1.11108ep-7, 0x1.6d9812p-10, 0x1.a1a1e6p-13});
    Value* q = fma(mul(by.r, by.r), p, by.r);
    // With half of 2^n, or the scale would overflow before the result does.
    Value* scale = power_of_two(b.CreateSub(by.n, integer(1)));
    Value* half = fma(scale, q, sub(scale, real(0.5)));
    return b.CreateSelect(b.CreateFCmpOEQ(x, real(0)), x, add(half, half));
  }

  // log(1 + m) + e log 2 for m in [sqrt(1/2) - 1, sqrt(2) - 1].
  Value* log_of(Value* m, Value* e) const {
    Value* p = polynomial(m, {0x1.555548p-2, -0x1.000006p-2, 0x1.99a4d8p-3, -0x1.555c6p-3, 0x1.23348p-3, -0x1.fc1c3ep-4,
                              0x1.e71828p-4, -0x1.de6f7ep-4, 0x1.1438acp-4});
    Value* square = mul(m, m);
    Value* small = fma(mul(m, square), p, mul(e, real(0x1.7f7d1cf79abcap-20)));
    small = fma(square, real(-0.5), small);
    return fma(e, real(0x1.62e4p-1), add(m, small));
  }
  // The exponent that leaves a mantissa in [sqrt(1/2), sqrt(2)).
  Value* exponent(Value* x) const { return b.CreateAShr(b.CreateSub(bits(x), integer(0x3f3504f3)), 23); }
  // What a polynomial gives is wrong for 0, negative numbers, infinity and NaN.
  Value* log_edges(Value* x, Value* y, double pole) const {
    Value* edge = b.CreateSelect(b.CreateFCmpOEQ(x, real(pole)), ConstantFP::getInfinity(floats, true),
                                 ConstantFP::getNaN(floats));
    y = b.CreateSelect(b.CreateFCmpOGT(x, real(pole)), y, edge);
    return b.CreateSelect(b.CreateFCmpOEQ(x, ConstantFP::getInfinity(floats)), x, y);
  }

  Value* log(Value* x) const {
    Value* tiny = b.CreateFCmpOLT(x, real(0x1p-126));
    Value* normal = b.CreateSelect(tiny, mul(x, real(0x1p25)), x);
    Value* e = exponent(normal);
    Value* mantissa = unbits(b.CreateSub(bits(normal), b.CreateShl(e, 23)));
    Value* power = b.CreateSIToFP(e, floats);
    power = b.CreateSelect(tiny, sub(power, real(25)), power);
    return log_edges(x, log_of(sub(mantissa, real(1)), power), 0);
  }

  Value* log1p(Value* x) const {
    // Beyond 2^64 the 1 does not count, and x is scaled so that 2^-e stays a normal number.
    Value* large = b.CreateFCmpOGT(x, real(0x1p64));
    Value* one = b.CreateSelect(large, real(0), real(1));
    Value* scaled = b.CreateSelect(large, mul(x, real(0x1p-32)), x);
    Value* e = exponent(add(one, scaled));
    Value* inverse = power_of_two(b.CreateSub(integer(0), e));
    Value* m = fma(scaled, inverse, b.CreateSelect(large, real(-1), sub(inverse, real(1))));
    Value* power = b.CreateSIToFP(e, floats);
    power = b.CreateSelect(large, add(power, real(32)), power);
    Value* y = log_edges(x, log_of(m, power), -1);
    return b.CreateSelect(b.CreateFCmpOEQ(x, real(0)), x, y);
  }

  Value* sigmoid(Value* x) const {  // 1 / (1 + e^-x), or e^x / (1 + e^x): the exponential that cannot overflow
    Value* e = exp(b.CreateFNeg(magnitude(x)));
    return div(b.CreateSelect(b.CreateFCmpOLT(x, real(0)), e, real(1)), add(real(1), e));
  }

  Value* tanh(Value* x) const {  // 1 to the last bit beyond 9.1
    Value* y = expm1(at_most(mul(magnitude(x), real(2)), 20.0));
    return with_sign_of(div(y, add(y, real(2))), x);
  }

  Value* erf(Value* x) const {
    Value* t = at_most(magnitude(x), 4.1);  // 1 to the last bit beyond 3.92
    Value* inner = polynomial(
        mul(t, t), {0x1.06eba6p-3, -0x1.8126dp-2, 0x1.ce16cp-4, -0x1.b6539p-6, 0x1.45eadp-8, -0x1.34a218p-11});
    Value* outer = polynomial(
        t, {0x1.077adp-3, 0x1.45308p-1, 0x1.b3416ap-4, -0x1.85b486p-6, 0x1.deee16p-9, -0x1.55854p-12, 0x1.82c952p-17});
    Value* far = sub(real(1), exp(b.CreateFNeg(fma(outer, t, t))));
    return with_sign_of(b.CreateSelect(b.CreateFCmpOLE(t, real(0.93)), fma(inner, t, t), far), x);
  }
};

bool is_own_function(op what) {
  switch (what) {
    case op::exp:
    case op::log:
    case op::expm1:
    case op::log1p:
    case op::sigmoid:
    case op::tanh:
    case op::erf: return true;
    default: return false;
  }
}

}  // namespace

Value* emit_math(function_emitter& f, op what, element type, std::span<Value* const> args) {
  Value* x = args[0];
  if (type == element::f64) {
    if (what != op::sigmoid) return emit_math_call(f, what, type, args);
    Value* negative = f.build.CreateFNeg(f.build.CreateUnaryIntrinsic(Intrinsic::fabs, x));
    Value* e = emit_math_call(f, op::exp, type, {&negative, 1});
    Constant* const one = ConstantFP::get(x->getType(), 1.0);
    Value* below = f.build.CreateFCmpOLT(x, Constant::getNullValue(x->getType()));
    return f.build.CreateFDiv(f.build.CreateSelect(below, e, one), f.build.CreateFAdd(one, e));
  }
  // A register at a time: the steps of sixteen registers side by side would live on the stack.
  if (const auto* wide = dyn_cast<FixedVectorType>(x->getType()); wide && args.size() == 1 && is_own_function(what)) {
    const unsigned lanes = wide->getNumElements(), width = static_cast<unsigned>(f.m.target.register_bytes()) / 4;
    if (lanes > width) {
      Value* all = nullptr;
      for (unsigned at = 0; at < lanes; at += width) {
        std::vector<int> piece(width);
        for (unsigned k = 0; k < width; ++k) piece[k] = static_cast<int>(at + k);
        Value* const part = f.build.CreateShuffleVector(x, piece);
        Value* const made = emit_math(f, what, type, {&part, 1});
        all = all ? f32_math(f, made).append(all, made) : made;
      }
      return all;
    }
  }
  const f32_math math(f, x);
  switch (what) {
    case op::exp:
      return math.exp(x);
    case op::log:
      return math.log(x);
    case op::expm1:
      return math.expm1(x);
    case op::log1p:
      return math.log1p(x);
    case op::sigmoid:
      return math.sigmoid(x);
    case op::tanh:
      return math.tanh(x);
    case op::erf:
      return math.erf(x);
    default:
      return emit_math_call(f, what, type, args);
  }
}

}  // namespace sheaf::llvm_backend
