// Functions as plain vector IR. A call to a vector library would spill every accumulator, since no vector register
// survives a call on x86-64, and its bits differ between widths; these stay in registers, have no branches (but for
// sines and tangents of huge numbers), and give the same bits in every lane, width and tail, AVX2 or AVX-512 (without
// FMA the last bit may differ). NaN gives NaN, overflow infinity, subnormals are kept. Coefficients:
// scripts/fit_math.py. What they cost beside libmvec and SLEEF, and their errors: docs/math.md. Bounds in units of the
// last place: numerics/accuracy.hpp, shown by tests/jit/math.cpp.
#include <sheaf/jit/llvm/math.hpp>

namespace sheaf::inline v0_1::llvm_backend {

using namespace llvm;

Value* real_math::scale(Value* y, Value* n) const {
  const auto* vector = dyn_cast<FixedVectorType>(reals);
  if (!vector) return nullptr;
  const unsigned lanes = vector->getNumElements(), bytes = lanes * (is_double ? 8 : 4);
  if (bytes < 16 || bytes > 64) return nullptr;
  const char* const name = f.m.target.vectors.scale[is_double][bytes / 32];
  if (name == nullptr) return nullptr;
  std::vector<Value*> args{y, n, Constant::getNullValue(reals),
                           b.getIntN(std::max(8u, lanes), lanes < 8 ? 15 : (1u << lanes) - 1)};
  if (is_double && lanes < 4) args[3] = b.getInt8(3);
  if (bytes == 64) args.push_back(b.getInt32(4));  // rounding as the processor is set
  return b.CreateIntrinsic(Function::lookupIntrinsicID(name), {}, args);
}

// In two factors, so that results reach infinity and the subnormals: their exponents are the halves of n and of two
// biases, made by shifts alone.
Value* real_math::scaled(Value* y, const reduced& by) const {
  if (Value* once = scale(y, by.whole)) return once;
  Value* half = b.CreateLShr(by.moved, 1);
  return mul(mul(y, unbits(b.CreateShl(half, digits()))), unbits(b.CreateShl(b.CreateSub(by.moved, half), digits())));
}

Value* real_math::exp_tail(Value* r) const {
  if (is_double)
    return polynomial(r, {0x1p-1, 0x1.5555555555559p-3, 0x1.555555555555ap-5, 0x1.111111110f676p-7,
                          0x1.6c16c16c1447bp-10, 0x1.a01a01affdc0fp-13, 0x1.a01a01b0a85e7p-16, 0x1.71ddf8107a522p-19,
                          0x1.27e4c5c20b8e7p-22, 0x1.af5f3c87ab398p-26, 0x1.1f952e89ce813p-29});
  return polynomial(r, {0x1p-1, 0x1.55548ep-3, 0x1.55545ep-5, 0x1.123be8p-7, 0x1.6db494p-10});
}

Value* real_math::exp(Value* x) const {
  Value* const bounded = is_double ? at_least(at_most(x, 710.0), -746.0) : at_least(at_most(x, 89.0), -104.0);
  const reduced by = by_log2(bounded, 2 * bias());
  return scaled(exp_of_rest(by.r), by);
}

Value* real_math::exp_of_near(Value* x) const {
  const reduced by = by_log2(x);
  Value* const y = exp_of_rest(by.r);
  return unbits(b.CreateAdd(bits(y), b.CreateShl(by.moved, digits())));
}

namespace {

struct error_function : real_math {
  using real_math::real_math;

  // Near 0 by an odd polynomial; far from it 1 - e^-g(t), where g = -log erfc is smooth.
  Value* of(Value* x) const {
    Value* t = at_most(magnitude(x), is_double ? 6.0 : 4.1);  // 1 to the last bit beyond 5.92, in f32 3.92
    Value* inner = erf_near(mul(t, t));
    Value* far = sub(real(1), exp(negated(fma(erf_far(t), t, t))));
    return with_sign_of(select(b.CreateFCmpOLE(t, real(0.93)), fma(inner, t, t), far), x);
  }
  Value* erf_near(Value* square) const {
    if (is_double)
      return polynomial(square,
                        {0x1.06eba8214db68p-3, -0x1.812746b0379dap-2, 0x1.ce2f21a04217ap-4, -0x1.b82ce31252991p-6,
                         0x1.565bcd0552ad2p-8, -0x1.c02db23243de8p-11, 0x1.f9a2ecc20fa33p-14, -0x1.f4cd84dde4ea0p-17,
                         0x1.b9a1bfd48ba0ap-20, -0x1.5ce50fe15e225p-23, 0x1.dd825f4e5498ap-27, -0x1.c017e395be907p-31});
    return polynomial(square,
                      {0x1.06eba6p-3, -0x1.8126dp-2, 0x1.ce16cp-4, -0x1.b6539p-6, 0x1.45eadp-8, -0x1.34a218p-11});
  }
  Value* erf_far(Value* t) const {
    if (is_double)
      return polynomial(t,
                        {0x1.06eba64920857p-3, 0x1.45f309bc52760p-1, 0x1.a4f4ce590f477p-4, -0x1.396ada6826e8cp-6,
                         -0x1.ab547acbf7bb2p-13, 0x1.b8ccedabdcf55p-10, -0x1.2761372dab472p-11, -0x1.4a0fea108aee0p-17,
                         0x1.a76873e0af98dp-14, -0x1.ec56522343e7ep-15, 0x1.66787df8e1d78p-16, -0x1.7dd2e8af81e01p-18,
                         0x1.345dbbb993e04p-20, -0x1.78c11208c37eap-23, 0x1.52ebfe5b7346cp-26, -0x1.a86f15b1f1afap-30,
                         0x1.4aa996481d9f0p-34, -0x1.e2a7e110ce0f6p-40});
    return polynomial(
        t, {0x1.077adp-3, 0x1.45308p-1, 0x1.b3416ap-4, -0x1.85b486p-6, 0x1.deee16p-9, -0x1.55854p-12, 0x1.82c952p-17});
  }
};

// sinh and cosh of n log 2 + r by those of both terms: no division, and no difference of large numbers. Those of
// n log 2 are (2^n -+ 2^-n) / 2.
struct hyperbolic : real_math {
  using real_math::real_math;

  Value* of(Value* size, bool cosine) const {
    Value* const bounded = at_most(size, is_double ? 710.6 : 89.5);
    const reduced by = by_log2(bounded);
    Value* const z = mul(by.r, by.r);
    Value* const odd = fma(mul(by.r, z), sine_tail(z), by.r);  // sinh r
    Value* const even = mul(z, cosine_tail(z));                // cosh r - 1
    // A quarter, or 2^n would overflow before the result does. Beyond the bound 2^-n does not count.
    Value* const up = power_of_two(b.CreateSub(by.n, integer(2)));
    Value* const small = power_of_two(b.CreateSub(integer(-2ull), by.n));
    Value* const down = select(more(bounded, real(is_double ? 40 : 20)), real(0), small);
    Value* const s = sub(up, down);
    Value* const c = add(up, down);
    // The sum c is rounded where both count, and a cosh has no zero to keep: 2^n stays apart from the rest.
    Value* const half = cosine ? add(up, fma(s, odd, fma(c, even, down))) : add(s, fma(c, odd, mul(s, even)));
    return add(half, half);
  }
  Value* sine_tail(Value* z) const {
    if (is_double)
      return polynomial(z, {0x1.5555555555559p-3, 0x1.111111110f644p-7, 0x1.a01a01b0147bep-13, 0x1.71ddf7d06a0c4p-19,
                            0x1.af5fb6e95eee1p-26});
    return polynomial(z, {0x1.555556p-3, 0x1.1110b2p-7, 0x1.a17146p-13});
  }
  Value* cosine_tail(Value* z) const {
    if (is_double)
      return polynomial(
          z, {0x1p-1, 0x1.55555555530d4p-5, 0x1.6c16c17d28ae1p-10, 0x1.a019a9e2667f6p-16, 0x1.28a0de33b422fp-22});
    return polynomial(z, {0x1p-1, 0x1.5554e6p-5, 0x1.6d5026p-10});
  }
};

}  // namespace

Value* real_math::expm1(Value* x) const {
  const reduced by = by_log2(is_double ? at_least(at_most(x, 710.0), -40.0) : at_least(at_most(x, 89.0), -20.0));
  Value* p =
      is_double
          ? exp_tail(by.r)
          : polynomial(by.r, {0x1p-1, 0x1.555556p-3, 0x1.55547ep-5, 0x1.11108ep-7, 0x1.6d9812p-10, 0x1.a1a1e6p-13});
  Value* q = fma(mul(by.r, by.r), p, by.r);
  // With half of 2^n, or the scale would overflow before the result does.
  Value* scale = power_of_two(b.CreateSub(by.n, integer(1)));
  Value* half = fma(scale, q, sub(scale, real(0.5)));
  return select(equal(x, real(0)), x, add(half, half));
}

Value* real_math::sigmoid(Value* x) const {  // 1 / (1 + e^-x), or e^x / (1 + e^x): the exponential that cannot overflow
  Value* e = exp(negated(magnitude(x)));
  return div(select(less(x, real(0)), e, real(1)), add(real(1), e));
}

Value* real_math::tanh(Value* x) const {  // 1 to the last bit beyond 9.1, in f64 19.1
  Value* y = expm1(at_most(mul(magnitude(x), real(2)), is_double ? 40.0 : 20.0));
  return with_sign_of(div(y, add(y, real(2))), x);
}

Value* real_math::sinh(Value* x) const {
  Value* const size = magnitude(x);
  Value* const y = with_sign_of(hyperbolic(f, x).of(size, false), x);
  return select(less(size, real(is_double ? 0x1p-27 : 0x1p-12)), x, y);  // halves of subnormals are rounded
}

Value* real_math::cosh(Value* x) const { return hyperbolic(f, x).of(magnitude(x), true); }

Value* real_math::erf(Value* x) const { return error_function(f, x).of(x); }

namespace {

// Lanes of a, then those of b.
Value* append(builder& b, Value* first, Value* second) {
  const int n = static_cast<int>(cast<FixedVectorType>(first->getType())->getNumElements());
  const int m = static_cast<int>(cast<FixedVectorType>(second->getType())->getNumElements());
  std::vector<int> widened(static_cast<std::size_t>(n), -1), both(static_cast<std::size_t>(n + m));
  for (int k = 0; k < m; ++k) widened[static_cast<std::size_t>(k)] = k;
  Value* wide = n == m ? second : b.CreateShuffleVector(second, widened);
  for (int k = 0; k < n + m; ++k) both[static_cast<std::size_t>(k)] = k;
  return b.CreateShuffleVector(first, wide, both);
}

}  // namespace

Value* by_registers(function_emitter& f, std::span<Value* const> args,
                    function_ref<Value*(std::span<Value* const>)> make) {
  const auto* vector = dyn_cast<FixedVectorType>(args[0]->getType());
  const unsigned lanes = vector ? vector->getNumElements() : 1;
  const unsigned width =
      static_cast<unsigned>(f.m.target.vectors.register_bytes) / (args[0]->getType()->getScalarSizeInBits() / 8);
  if (lanes <= width) return make(args);
  Value* all = nullptr;
  for (unsigned at = 0; at < lanes; at += width) {
    std::vector<int> some(width);
    for (unsigned k = 0; k < width; ++k) some[k] = static_cast<int>(at + k);
    std::vector<Value*> parts;
    for (Value* x : args) parts.push_back(f.build.CreateShuffleVector(x, some));
    Value* const made = make(parts);
    all = all ? append(f.build, all, made) : made;
  }
  return all;
}

namespace {

struct math_row {
  op what;
  Value* (real_math::*emit)(Value*) const;
  bool of_any_lanes = false;  // makes registers of them itself
};
constexpr math_row math_rows[] = {
    {op::exp, &real_math::exp},       {op::log, &real_math::log},       {op::log1p, &real_math::log1p},
    {op::expm1, &real_math::expm1},   {op::tanh, &real_math::tanh},     {op::sigmoid, &real_math::sigmoid},
    {op::erf, &real_math::erf},       {op::sin, &real_math::sin, true}, {op::cos, &real_math::cos, true},
    {op::tan, &real_math::tan, true}, {op::asin, &real_math::asin},     {op::acos, &real_math::acos},
    {op::atan, &real_math::atan},     {op::sinh, &real_math::sinh},     {op::cosh, &real_math::cosh},
    {op::asinh, &real_math::asinh},   {op::acosh, &real_math::acosh},   {op::atanh, &real_math::atanh},
};
const math_row* row_of(op what) {
  for (const math_row& r : math_rows)
    if (r.what == what) return &r;
  return nullptr;
}

Value* emit_function(function_emitter& f, op what, std::span<Value* const> args) {
  if (what == op::pow) return emit_power(f, args[0], args[1]);
  const math_row* const found = row_of(what);
  if (found == nullptr) throw compile_error("not a function of math.cpp");
  return (real_math(f, args[0]).*found->emit)(args[0]);
}

// Without the instruction that scales by 2^n, results that may be no normal numbers take a third of all the steps:
// registers whose lanes are all near enough to 0 go without. The bits are the same.
Value* exp_of_lanes(function_emitter& f, Value* x) {
  auto& b = f.build;
  const real_math m(f, x);
  Value* const size = m.largest(m.unsigned_bits(x));
  Value* const limit = ConstantInt::get(size->getType(), m.unsigned_bits(m.near_exponent()));
  auto* const near = BasicBlock::Create(b.getContext(), "exp.near", f.function);
  auto* const far = BasicBlock::Create(b.getContext(), "exp.far", f.function);
  auto* const done = BasicBlock::Create(b.getContext(), "exp.done", f.function);
  b.CreateCondBr(m.none_of(b.CreateICmpUGE(size, limit)), near, far);
  b.SetInsertPoint(near);
  Value* const quick =
      by_registers(f, {&x, 1}, [&](const auto& part) { return real_math(f, part[0]).exp_of_near(part[0]); });
  b.CreateBr(done);
  b.SetInsertPoint(far);
  Value* const whole = by_registers(f, {&x, 1}, [&](const auto& part) { return real_math(f, part[0]).exp(part[0]); });
  b.CreateBr(done);
  b.SetInsertPoint(done);
  PHINode* const result = b.CreatePHI(x->getType(), 2);
  result->addIncoming(quick, near);
  result->addIncoming(whole, far);
  return result;
}

// A call of the function as one of the module's own, of one register; the bits are the same.
Value* outlined(function_emitter& f, op what, std::span<Value* const> args) {
  Type* const type = args[0]->getType();
  std::string name = "math." + std::to_string(static_cast<int>(what));
  name += type->getScalarType()->isDoubleTy() ? ".f64" : ".f32";
  if (const auto* vector = dyn_cast<FixedVectorType>(type)) name += "x" + std::to_string(vector->getNumElements());
  Function* fn = f.m.module.getFunction(name);
  if (fn == nullptr) {
    const std::vector<Type*> types(args.size(), type);
    fn = Function::Create(FunctionType::get(type, types, false), Function::InternalLinkage, name, f.m.module);
    for (const char* same : {"target-cpu", "target-features", "prefer-vector-width"})
      if (f.function->hasFnAttribute(same)) fn->addFnAttr(f.function->getFnAttribute(same));
    fn->addFnAttr(Attribute::NoInline);
    fn->addFnAttr(Attribute::NoUnwind);
    function_emitter inner(f.m, f.kernel, fn);
    inner.outlines = false;
    std::vector<Value*> parameters;
    for (Argument& a : fn->args()) parameters.push_back(&a);
    inner.build.CreateRet(emit_function(inner, what, parameters));
    BranchInst::Create(inner.prologue->getNextNode(), inner.prologue);
  }
  return f.build.CreateCall(fn, {args.data(), args.size()});
}

}  // namespace

bool is_math(op what) { return what == op::pow || row_of(what) != nullptr; }

Value* emit_math(function_emitter& f, op what, std::span<Value* const> args) {
  if (what == op::pow)
    if (Value* const made = emit_small_power(f, args[0], args[1]); made != nullptr) return made;
  if (f.outlines) return by_registers(f, args, [&](const auto& parts) { return outlined(f, what, parts); });
  const bool is_wide = f.m.module.getDataLayout().getTypeStoreSize(args[0]->getType()) >
                       static_cast<unsigned>(f.m.target.vectors.register_bytes);
  if (what == op::exp && is_wide && f.m.target.vectors.register_bytes == 32) return exp_of_lanes(f, args[0]);
  const math_row* const found = row_of(what);
  if (found != nullptr && found->of_any_lanes) return emit_function(f, what, args);
  return by_registers(f, args, [&](const auto& parts) { return emit_function(f, what, parts); });
}

}  // namespace sheaf::inline v0_1::llvm_backend
