// Sine, cosine and tangent: reduced by multiples of pi / 2 (Cody and Waite, in three parts whose products are exact by
// FMA, in four shorter ones without it), then both polynomials, of which each lane takes one, or their quotient. The
// reduction is good to |x| = 2^30 (f32: 2^17); what lies beyond goes to libm, lane by lane, out of the way.
#include <sheaf/dsl/graph/make.hpp>
#include <sheaf/jit/llvm/math.hpp>

#include <llvm/IR/MDBuilder.h>

namespace sheaf::inline v0_1::llvm_backend {

using namespace llvm;

namespace {

struct sines : real_math {
  using real_math::real_math;

  double limit() const {
    if (f.m.target.fma) return is_double ? 0x1p30 : 0x1p17;
    return is_double ? 0x1p20 : 0x1p13;
  }

  Value* reduced_by(Value* n, Value* x) const {
    const bool fused = f.m.target.fma;
    static constexpr double parts[4][4] = {
        {0x1.921fb4p+0, 0x1.4442dp-24, 0x1.84698ap-48, 0},
        {0x1.92p+0, 0x1.fb4p-12, 0x1.444p-24, 0x1.68c234p-39},
        {0x1.921fb54442d18p+0, 0x1.1a62633145c06p-54, 0x1.c1cd129024e09p-107, 0},
        {0x1.921fb544p+0, 0x1.0b4611a6p-34, 0x1.3198a2ep-69, 0x1.b839a252049c1p-104}};
    for (const double part : parts[2 * is_double + !fused])
      if (part != 0) x = fma(n, real(-part), x);
    return x;
  }

  Value* sine_of(Value* r, Value* z) const {
    Value* p = is_double ? polynomial(z, {-0x1.5555555555549p-3, 0x1.111111110f859p-7, -0x1.a01a019c0d7a6p-13,
                                          0x1.71de35741ec31p-19, -0x1.ae5e636244966p-26, 0x1.5d922ae0ffff7p-33})
                         : polynomial(z, {-0x1.5555445a83e2bp-3, 0x1.1106df8825e8dp-7, -0x1.99224b36d8144p-13});
    return fma(mul(z, r), p, r);
  }
  Value* cosine_of(Value* z) const {
    Value* p = is_double ? polynomial(z, {0x1.555555555554cp-5, -0x1.6c16c16c1515dp-10, 0x1.a01a019cae74ep-16,
                                          -0x1.27e4f80783937p-22, 0x1.1ee9ea395c50ap-29, -0x1.8fadb7cc7485cp-37})
                         : polynomial(z, {0x1.555549dbffe96p-5, -0x1.6c0c0398ed459p-10, 0x1.99da65a66be2bp-16});
    // 1 - z / 2 is rounded, and what that lost is put back with the rest.
    Value* half = mul(z, real(0.5));
    Value* front = sub(real(1), half);
    return add(front, fma(mul(z, z), p, sub(sub(real(1), front), half)));
  }

  Value* near(Value* x, op what) const {
    const multiple by = nearest(x, 0x1.45f306dc9c883p-1);
    Value* r = reduced_by(by.whole, x);
    Value* z = mul(r, r);
    Value* const sine = sine_of(r, z);
    Value* const cosine = cosine_of(z);
    Value* quarter = what == op::cos ? b.CreateAdd(by.n, integer(1)) : by.n;
    Value* odd = b.CreateICmpNE(b.CreateAnd(quarter, integer(1)), integer(0));
    if (what == op::tan) {  // tan(r + pi / 2) = -cos r / sin r
      Value* const y = div(select(odd, negated(cosine), sine), select(odd, sine, cosine));
      return select(equal(x, real(0)), x, y);
    }
    Value* sign = b.CreateShl(b.CreateAnd(quarter, integer(2)), is_double ? 62 : 30);
    Value* y = unbits(b.CreateXor(bits(select(odd, cosine, sine)), sign));
    return what == op::cos ? y : select(equal(x, real(0)), x, y);
  }

  // y[k] = libm's of x[k] wherever |x[k]| is beyond the limit. One function a module for each shape.
  Function* far_function(op what, Type* type) const {
    const auto* vector = dyn_cast<FixedVectorType>(type);
    const unsigned lanes = vector ? vector->getNumElements() : 1;
    Module& m = f.m.module;
    const std::string libm = std::string(row(what).library) + (is_double ? "" : "f");
    const std::string name = "sheaf.far." + libm + std::to_string(lanes);
    if (Function* made = m.getFunction(name)) return made;
    LLVMContext& c = m.getContext();
    Type* const ptr = PointerType::getUnqual(c);
    Type* const scalar = reals->getScalarType();
    auto* made =
        Function::Create(FunctionType::get(Type::getVoidTy(c), {ptr, ptr}, false), Function::InternalLinkage, name, m);
    for (const auto a : {Attribute::NoUnwind, Attribute::NoInline, Attribute::Cold}) made->addFnAttr(a);
    builder at(BasicBlock::Create(c, "body", made), InstSimplifyFolder(m.getDataLayout()));
    FunctionCallee callee = m.getOrInsertFunction(libm, FunctionType::get(scalar, {scalar}, false));
    for (unsigned k = 0; k < lanes; ++k) {
      auto* beyond = BasicBlock::Create(c, "beyond", made);
      auto* next = BasicBlock::Create(c, "next", made);
      Value* x = at.CreateLoad(scalar, at.CreateConstGEP1_64(scalar, made->getArg(0), k));
      Value* size = at.CreateUnaryIntrinsic(Intrinsic::fabs, x);
      at.CreateCondBr(at.CreateFCmpOGT(size, ConstantFP::get(scalar, limit())), beyond, next);
      at.SetInsertPoint(beyond);
      at.CreateStore(at.CreateCall(callee, {x}), at.CreateConstGEP1_64(scalar, made->getArg(1), k));
      at.CreateBr(next);
      at.SetInsertPoint(next);
    }
    at.CreateRetVoid();
    return made;
  }

  Value* with_far(Value* x, Value* y, Value* beyond, op what) const {
    LLVMContext& c = b.getContext();
    auto* from = b.GetInsertBlock();
    auto* far = BasicBlock::Create(c, "far", f.function);
    auto* done = BasicBlock::Create(c, "far.done", f.function);
    Value* any = beyond->getType()->isVectorTy() ? b.CreateNot(none_of(beyond)) : beyond;
    b.CreateCondBr(any, far, done, MDBuilder(c).createBranchWeights(1, 100000));
    b.SetInsertPoint(far);
    AllocaInst *given = nullptr, *result = nullptr;
    Value* const both[] = {x, y};
    Value* right = by_registers(f, both, [&](const auto& parts) {
      if (given == nullptr) given = f.stack_slot(parts[0]->getType(), "far.x");
      if (result == nullptr) result = f.stack_slot(parts[0]->getType(), "far.y");
      b.CreateStore(parts[0], given);
      b.CreateStore(parts[1], result);
      b.CreateCall(far_function(what, parts[0]->getType()), {given, result});
      return b.CreateLoad(parts[0]->getType(), result);
    });
    b.CreateBr(done);
    b.SetInsertPoint(done);
    PHINode* phi = b.CreatePHI(reals, 2);
    phi->addIncoming(y, from);
    phi->addIncoming(right, far);
    return phi;
  }

  // One branch for all registers: at each one, what is live would be spilled beside the call.
  Value* of(Value* x, op what) const {
    Value* beyond = nullptr;
    Value* y = by_registers(f, {&x, 1}, [&](const auto& parts) {
      const sines s(f, parts[0]);
      Value* const here = s.more(s.magnitude(parts[0]), s.real(limit()));
      beyond = beyond ? b.CreateOr(beyond, here) : here;
      return s.near(parts[0], what);
    });
    return with_far(x, y, beyond, what);
  }
};

}  // namespace

Value* real_math::sin(Value* x) const { return sines(f, x).of(x, op::sin); }
Value* real_math::cos(Value* x) const { return sines(f, x).of(x, op::cos); }
Value* real_math::tan(Value* x) const { return sines(f, x).of(x, op::tan); }

}  // namespace sheaf::inline v0_1::llvm_backend
