// Functions as plain vector IR. A call to a vector library would spill every accumulator, since no vector register
// survives a call on x86-64, and its bits differ between widths; these stay in registers, have no branches (but for
// sines of huge numbers), and give the same bits in every lane, width and tail, AVX2 or AVX-512 (without FMA the last
// bit may differ). NaN gives NaN, overflow infinity, subnormals are kept. Coefficients: scripts/fit_math.py. What they
// cost beside libmvec and SLEEF, and their errors: docs/math.md. Bounds shown by tests/jit/math.cpp, in units of the
// last place: exp 1, log 1, expm1 2, log1p 2, sigmoid 2, tanh 3, erf 2, sin 2, cos 2, pow 1.5.
#include <algorithm>

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

struct functions : real_math {
  using real_math::real_math;

  Value* expm1(Value* x) const {
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

  // log(1 + m) + e log 2 for m in [sqrt(1/2) - 1, sqrt(2) - 1].
  Value* log_of(Value* m, Value* e) const {
    if (!is_double) {
      Value* p = polynomial(m, {0x1.555548p-2, -0x1.000006p-2, 0x1.99a4d8p-3, -0x1.555c6p-3, 0x1.23348p-3,
                                -0x1.fc1c3ep-4, 0x1.e71828p-4, -0x1.de6f7ep-4, 0x1.1438acp-4});
      Value* square = mul(m, m);
      Value* small = fma(mul(m, square), p, mul(e, real(log2_low())));
      small = fma(square, real(-0.5), small);
      return fma(e, real(log2_high()), add(m, small));
    }
    // By 2 artanh(m / (2 + m)): J.-M. Muller, Elementary Functions, third edition, section 11.2.1, gathered so that m
    // itself stays whole.
    Value* s = div(m, add(m, real(2)));
    Value* z = mul(s, s);
    Value* p = polynomial(z, {0x1.5555555555593p-1, 0x1.999999997fb00p-2, 0x1.2492494219e3dp-2, 0x1.c71c51e6639acp-3,
                              0x1.74664675cf49ap-3, 0x1.39a0ee5862caep-3, 0x1.2f0dcc197a9a8p-3});
    Value* half = mul(m, real(0.5));
    Value* small = fma(s, fma(half, m, mul(z, p)), mul(e, real(log2_low())));
    small = fma(negated(half), m, small);
    return fma(e, real(log2_high()), add(m, small));
  }
  // What a polynomial gives is wrong for 0, negative numbers, infinity and NaN.
  Value* log_edges(Value* x, Value* y, double pole) const {
    Value* edge = select(equal(x, real(pole)), ConstantFP::getInfinity(reals, true), nan());
    return select(equal(x, infinity()), x, select(more(x, real(pole)), y, edge));
  }

  Value* log(Value* x) const {
    const double up = is_double ? 0x1p54 : 0x1p25, by = is_double ? 54 : 25;
    Value* tiny = less(x, real(is_double ? 0x1p-1022 : 0x1p-126));
    Value* normal = select(tiny, mul(x, real(up)), x);
    const split e = exponent(normal);
    Value* mantissa = unbits(b.CreateSub(bits(normal), e.moved));
    Value* power = select(tiny, sub(e.power, real(by)), e.power);
    return log_edges(x, log_of(sub(mantissa, real(1)), power), 0);
  }

  Value* log1p(Value* x) const {
    // Beyond 2^64 the 1 does not count, and x is scaled so that 2^-e stays a normal number.
    Value* large = more(x, real(0x1p64));
    Value* one = select(large, real(0), real(1));
    Value* scaled = select(large, mul(x, real(0x1p-32)), x);
    const split e = exponent(add(one, scaled));
    Value* inverse = unbits(b.CreateSub(integer(bias() << digits()), e.moved));
    Value* m = fma(scaled, inverse, select(large, real(-1), sub(inverse, real(1))));
    Value* power = select(large, add(e.power, real(32)), e.power);
    Value* y = log_edges(x, log_of(m, power), -1);
    return select(equal(x, real(0)), x, y);
  }

  Value* sigmoid(Value* x) const {  // 1 / (1 + e^-x), or e^x / (1 + e^x): the exponential that cannot overflow
    Value* e = exp(negated(magnitude(x)));
    return div(select(less(x, real(0)), e, real(1)), add(real(1), e));
  }

  Value* tanh(Value* x) const {  // 1 to the last bit beyond 9.1, in f64 19.1
    Value* y = expm1(at_most(mul(magnitude(x), real(2)), is_double ? 40.0 : 20.0));
    return with_sign_of(div(y, add(y, real(2))), x);
  }

  // Near 0 by an odd polynomial; far from it 1 - e^-g(t), where g = -log erfc is smooth.
  Value* erf(Value* x) const {
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

Value* in_one_register(function_emitter& f, op what, std::span<Value* const> args) {
  Value* x = args[0];
  const functions math(f, x);
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
    case op::sin:
    case op::cos:
      return math.sine(x, what == op::cos);
    case op::pow:
      return emit_power(f, x, args[1]);
    default:
      throw compile_error("not a function of math.cpp");
  }
}

// A register at a time: the steps of sixteen registers side by side would live on the stack.
template <class Make>
Value* by_registers(function_emitter& f, unsigned width, std::span<Value* const> args, Make&& make) {
  const unsigned lanes = cast<FixedVectorType>(args[0]->getType())->getNumElements();
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

// Without the instruction that scales by 2^n, results that may be no normal numbers take a third of all the steps:
// registers whose lanes are all near enough to 0 go without. The bits are the same.
Value* exp_of_lanes(function_emitter& f, unsigned width, Value* x) {
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
      by_registers(f, width, {&x, 1}, [&](const auto& part) { return real_math(f, part[0]).exp_of_near(part[0]); });
  b.CreateBr(done);
  b.SetInsertPoint(far);
  Value* const whole =
      by_registers(f, width, {&x, 1}, [&](const auto& part) { return real_math(f, part[0]).exp(part[0]); });
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
    inner.build.CreateRet(in_one_register(inner, what, parameters));
    BranchInst::Create(inner.prologue->getNextNode(), inner.prologue);
  }
  return f.build.CreateCall(fn, {args.data(), args.size()});
}

}  // namespace

bool is_math(op what) {
  constexpr op all[] = {op::exp,     op::log,  op::expm1, op::log1p, op::sigmoid,
                        op::tanh,    op::erf,  op::sin,   op::cos,   op::pow};
  return std::find(std::begin(all), std::end(all), what) != std::end(all);
}

Value* emit_math(function_emitter& f, op what, std::span<Value* const> args) {
  const auto* vector = dyn_cast<FixedVectorType>(args[0]->getType());
  const unsigned lanes = vector ? vector->getNumElements() : 1;
  const auto width =
      static_cast<unsigned>(f.m.target.vectors.register_bytes) / (args[0]->getType()->getScalarSizeInBits() / 8);
  const auto once = f.outlines ? outlined : in_one_register;
  if (lanes <= width) return once(f, what, args);
  if (!f.outlines && what == op::exp && f.m.target.vectors.register_bytes == 32) return exp_of_lanes(f, width, args[0]);
  return by_registers(f, width, args, [&](const auto& parts) { return once(f, what, parts); });
}

}  // namespace sheaf::inline v0_1::llvm_backend
