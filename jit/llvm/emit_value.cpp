// Instructions. Elementwise ops have one row each; arguments come broadcast to the lanes of the result.
#include <algorithm>
#include <bit>

#include <llvm/IR/Intrinsics.h>

#include <sheaf/dsl/graph/make.hpp>
#include <sheaf/jit/llvm/emitter.hpp>
#include <sheaf/jit/tuning/tuning.hpp>

namespace sheaf::inline v0_1::llvm_backend {

using namespace llvm;

namespace {

// What a row is given: the type of the (first, or for select second) argument and that of the result.
struct op_context {
  function_emitter& f;
  builder& b;
  element from, to;
  std::span<Value* const> x;
  bool floating() const { return is_floating(from); }
  bool is_signed() const { return is_integer(from) && !is_unsigned(from); }
  Type* type() const { return x[0]->getType(); }
  Constant* zero() const { return Constant::getNullValue(type()); }
  Constant* integer(std::int64_t n) const { return ConstantInt::get(type(), static_cast<std::uint64_t>(n), true); }
  Value* unary(Intrinsic::ID id) const { return b.CreateUnaryIntrinsic(id, x[0]); }
};

Value* arithmetic(const op_context& c, Instruction::BinaryOps floating, Instruction::BinaryOps integer) {
  return c.b.CreateBinOp(c.floating() ? floating : integer, c.x[0], c.x[1]);
}

Value* compare(const op_context& c, CmpInst::Predicate floating, CmpInst::Predicate with_sign,
               CmpInst::Predicate without) {
  if (c.floating()) return c.b.CreateFCmp(floating, c.x[0], c.x[1]);
  return c.b.CreateICmp(c.is_signed() ? with_sign : without, c.x[0], c.x[1]);
}

Value* sign_of(const op_context& c) {  // NaN and both zeros give 0
  Type* const type = c.type();
  if (c.floating()) {
    Value* up = c.b.CreateSelect(c.b.CreateFCmpOGT(c.x[0], c.zero()), ConstantFP::get(type, 1.0), c.zero());
    return c.b.CreateSelect(c.b.CreateFCmpOLT(c.x[0], c.zero()), ConstantFP::get(type, -1.0), up);
  }
  Value* positive =
      c.b.CreateZExt(c.is_signed() ? c.b.CreateICmpSGT(c.x[0], c.zero()) : c.b.CreateICmpNE(c.x[0], c.zero()), type);
  return c.is_signed() ? c.b.CreateSub(positive, c.b.CreateZExt(c.b.CreateICmpSLT(c.x[0], c.zero()), type)) : positive;
}

// Rounded towards minus infinity. A divisor of 0 gives 0, and nothing traps, the lowest number by -1 included.
struct division {
  Value* quotient;
  Value* remainder;
};

division divide(const op_context& c) {
  auto& b = c.b;
  Value *n = c.x[0], *d = c.x[1];
  const APInt* power = nullptr;
  if (const auto* k = dyn_cast<Constant>(d); k && k->getType()->isIntOrIntVectorTy()) {
    const auto* scalar = dyn_cast_or_null<ConstantInt>(d->getType()->isVectorTy() ? k->getSplatValue() : k);
    if (scalar && scalar->getValue().isPowerOf2() && !(c.is_signed() && scalar->isNegative()))
      power = &scalar->getValue();
  }
  if (power) {
    Value* shift = c.integer(power->logBase2());
    return {c.is_signed() ? b.CreateAShr(n, shift) : b.CreateLShr(n, shift),
            b.CreateAnd(n, b.CreateSub(d, c.integer(1)))};
  }
  Value* by_zero = b.CreateICmpEQ(d, c.zero());
  if (!c.is_signed()) {
    Value* safe = b.CreateSelect(by_zero, c.integer(1), d);
    Value* q = b.CreateUDiv(n, safe);
    return {b.CreateSelect(by_zero, c.zero(), q),
            b.CreateSelect(by_zero, c.zero(), b.CreateSub(n, b.CreateMul(q, safe)))};
  }
  Value* by_minus_one = b.CreateICmpEQ(d, c.integer(-1));
  Value* safe = b.CreateSelect(b.CreateOr(by_zero, by_minus_one), c.integer(1), d);
  Value* q = b.CreateSDiv(n, safe);
  Value* r = b.CreateSub(n, b.CreateMul(q, safe));
  Value* below = b.CreateAnd(b.CreateICmpNE(r, c.zero()), b.CreateICmpSLT(b.CreateXor(r, safe), c.zero()));
  q = b.CreateSub(q, b.CreateZExt(below, c.type()));
  r = b.CreateSelect(below, b.CreateAdd(r, safe), r);
  q = b.CreateSelect(by_minus_one, b.CreateNeg(n), q);
  return {b.CreateSelect(by_zero, c.zero(), q), r};  // r is 0 where the divisor was replaced by 1
}

Value* signs_differ(const op_context& c, Value* x, Value* y) {
  Type* const bits = like(x, c.b.getIntNTy(x->getType()->getScalarSizeInBits()));
  Value* both = c.b.CreateXor(c.b.CreateBitCast(x, bits), c.b.CreateBitCast(y, bits));
  return c.b.CreateICmpSLT(both, Constant::getNullValue(bits));
}

// Of the exact quotient (math::quotient): where a / b was rounded up to a whole number, or to 0 from below, what is
// left has the other sign. Of an infinite dividend it is NaN.
Value* quotient(const op_context& c) {
  if (!c.floating()) return divide(c).quotient;
  auto& b = c.b;
  const auto real = [&](double v) { return ConstantFP::get(c.type(), v); };
  Value *n = c.x[0], *d = c.x[1];
  Value* q = b.CreateUnaryIntrinsic(Intrinsic::floor, b.CreateFDiv(n, d));
  Value* left = b.CreateIntrinsic(Intrinsic::fma, {c.type()}, {b.CreateFNeg(q), d, n});
  const double wholes = c.from == element::f64 ? 0x1p52 : 0x1p23;  // from here on all numbers are whole
  Value* exact = b.CreateFCmpOLT(b.CreateUnaryIntrinsic(Intrinsic::fabs, q), real(wholes));
  left = b.CreateSelect(b.CreateFCmpOEQ(q, c.zero()), n, left);  // 0 times an infinite divisor is no number
  Value* below = b.CreateAnd(b.CreateAnd(exact, b.CreateFCmpONE(left, c.zero())), signs_differ(c, left, d));
  q = b.CreateSelect(below, b.CreateFSub(q, real(1)), q);
  Value* infinite = b.CreateFCmpOEQ(b.CreateUnaryIntrinsic(Intrinsic::fabs, n), ConstantFP::getInfinity(c.type()));
  return b.CreateSelect(b.CreateAnd(infinite, b.CreateFCmpUNE(d, c.zero())), ConstantFP::getNaN(c.type()), q);
}

Value* remainder(const op_context& c) {
  if (!c.floating()) return divide(c).remainder;
  auto& b = c.b;
  Value* r = b.CreateFRem(c.x[0], c.x[1]);  // sign of the dividend
  Value* below = b.CreateAnd(b.CreateFCmpONE(r, c.zero()), signs_differ(c, r, c.x[1]));
  return b.CreateSelect(below, b.CreateFAdd(r, c.x[1]), r);
}

// As PyTorch: a count below 0 or of all bits and more leaves nothing but the sign.
Value* shift(const op_context& c, bool left) {
  auto& b = c.b;
  Value* const most = c.integer(static_cast<std::int64_t>(c.type()->getScalarSizeInBits()) - 1);
  Value* const count = b.CreateBinaryIntrinsic(Intrinsic::umin, c.x[1], most);
  if (!left && c.is_signed()) return b.CreateAShr(c.x[0], count);
  Value* const shifted = left ? b.CreateShl(c.x[0], count) : b.CreateLShr(c.x[0], count);
  return b.CreateSelect(b.CreateICmpUGT(c.x[1], most), c.zero(), shifted);
}

Value* magnitude(const op_context& c) {
  if (c.floating()) return c.unary(Intrinsic::fabs);
  return c.is_signed() ? c.b.CreateBinaryIntrinsic(Intrinsic::abs, c.x[0], c.b.getFalse()) : c.x[0];
}

using I = Instruction;
using C = CmpInst;
struct op_row {
  op what;
  Value* (*emit)(const op_context&);
};
#define ROW(name, expression)                                          \
  {                                                                    \
    op::name, [](const op_context& c) -> Value* { return expression; } \
  }
#define MATH(name) ROW(name, emit_math(c.f, op::name, c.x))
const op_row rows[] = {
    ROW(neg, c.floating() ? c.b.CreateFNeg(c.x[0]) : c.b.CreateNeg(c.x[0])),
    ROW(abs, magnitude(c)),
    ROW(sign, sign_of(c)),
    MATH(exp),
    MATH(log),
    MATH(log1p),
    MATH(expm1),
    MATH(tanh),
    MATH(sigmoid),
    MATH(erf),
    MATH(sin),
    MATH(cos),
    MATH(tan),
    MATH(asin),
    MATH(acos),
    MATH(atan),
    MATH(sinh),
    MATH(cosh),
    MATH(asinh),
    MATH(acosh),
    MATH(atanh),
    MATH(pow),
    ROW(sqrt, c.unary(Intrinsic::sqrt)),
    ROW(floor, c.floating() ? c.unary(Intrinsic::floor) : c.x[0]),
    ROW(ceil, c.floating() ? c.unary(Intrinsic::ceil) : c.x[0]),
    ROW(round, c.floating() ? c.unary(Intrinsic::roundeven) : c.x[0]),
    ROW(logical_not, c.b.CreateNot(c.x[0])),
    ROW(cast, emit_cast(c.f, c.from, c.to, c.x[0])),
    ROW(add, arithmetic(c, I::FAdd, I::Add)),
    ROW(sub, arithmetic(c, I::FSub, I::Sub)),
    ROW(mul, arithmetic(c, I::FMul, I::Mul)),
    ROW(div, c.floating() ? c.b.CreateFDiv(c.x[0], c.x[1]) : divide(c).quotient),
    ROW(quotient, quotient(c)),
    ROW(remainder, remainder(c)),
    ROW(bit_not, c.b.CreateNot(c.x[0])),
    ROW(bit_and, c.b.CreateAnd(c.x[0], c.x[1])),
    ROW(bit_or, c.b.CreateOr(c.x[0], c.x[1])),
    ROW(bit_xor, c.b.CreateXor(c.x[0], c.x[1])),
    ROW(shift_left, shift(c, true)),
    ROW(shift_right, shift(c, false)),
    ROW(minimum, emit_extreme(c.f, c.from, false, c.x[0], c.x[1])),
    ROW(maximum, emit_extreme(c.f, c.from, true, c.x[0], c.x[1])),
    ROW(equal, compare(c, C::FCMP_OEQ, C::ICMP_EQ, C::ICMP_EQ)),
    ROW(not_equal, compare(c, C::FCMP_UNE, C::ICMP_NE, C::ICMP_NE)),
    ROW(less, compare(c, C::FCMP_OLT, C::ICMP_SLT, C::ICMP_ULT)),
    ROW(less_equal, compare(c, C::FCMP_OLE, C::ICMP_SLE, C::ICMP_ULE)),
    ROW(logical_and, c.b.CreateAnd(c.x[0], c.x[1])),
    ROW(logical_or, c.b.CreateOr(c.x[0], c.x[1])),
    ROW(select, c.b.CreateSelect(c.x[0], c.x[1], c.x[2])),
};
#undef MATH
#undef ROW

// The C function of an op, lane by lane: the way of one that has no row here.
Value* call_library(const op_context& c, const char* library) {
  auto& b = c.b;
  Type* const scalar = c.type()->getScalarType();
  const std::string name = std::string(library) + (scalar->isDoubleTy() ? "" : "f");
  const FunctionCallee function =
      (*c.f.function->getParent())
          .getOrInsertFunction(name, FunctionType::get(scalar, std::vector<Type*>(c.x.size(), scalar), false));
  const auto* lanes = dyn_cast<FixedVectorType>(c.type());
  if (lanes == nullptr) return b.CreateCall(function, std::vector<Value*>(c.x.begin(), c.x.end()));
  Value* result = PoisonValue::get(c.type());
  for (unsigned k = 0; k < lanes->getNumElements(); ++k) {
    std::vector<Value*> args;
    for (Value* x : c.x) args.push_back(b.CreateExtractElement(x, k));
    result = b.CreateInsertElement(result, b.CreateCall(function, args), k);
  }
  return result;
}

bool divides_lanes_by_one(const function_emitter& f, const ir::instruction& i) {
  return i.what == op::div && is_floating(i.type) && f.instruction(i.args[0]).vector &&
         !f.instruction(i.args[1]).vector;
}

// Powers of two are shifts.
bool divides_places_by_one(const function_emitter& f, const ir::instruction& i) {
  const bool divides = (i.what == op::quotient || i.what == op::remainder) && i.type == element::i64 && i.vector;
  if (!divides || f.lanes < tuning::emit::least_divided || f.instruction(i.args[1]).vector) return false;
  const auto* known = dyn_cast<ConstantInt>(f.values[static_cast<std::size_t>(i.args[1])]);
  return known == nullptr || !(known->getValue().isPowerOf2() || known->isZero());
}

// By a power of two it is a multiplication, with the same bits.
Value* division_by_one(function_emitter& f, Value* x, Value* divisor) {
  APFloat inverse(0.0);
  if (const auto* n = dyn_cast<ConstantFP>(divisor); n != nullptr && n->getValueAPF().getExactInverse(&inverse))
    return f.build.CreateFMul(x, ConstantFP::get(x->getType(), inverse));
  return emit_division_by_one(f, x, divisor);
}

// 0 <= x && x < an extent or a number, which is not negative, in one comparison. Null where it is something else.
Value* within_extent(function_emitter& f, const ir::instruction& i) {
  if (i.what != op::logical_and || i.vector) return nullptr;
  const ir::instruction &low = f.instruction(i.args[0]), &high = f.instruction(i.args[1]);
  const auto compares = [](const ir::instruction& c, op what) {
    return c.code == ir::opcode::elementwise && c.what == what;
  };
  if (!compares(low, op::less_equal) || !compares(high, op::less) || low.args[1] != high.args[0]) return nullptr;
  const ir::instruction &zero = f.instruction(low.args[0]), &end = f.instruction(high.args[1]);
  if (zero.code != ir::opcode::constant || zero.type != element::i64 || zero.bits != 0) return nullptr;
  const bool positive = end.code == ir::opcode::extent || (end.code == ir::opcode::constant && end.bits >= 0);
  if (!positive || f.instruction(low.args[1]).type != element::i64) return nullptr;
  return f.build.CreateICmpULT(f.values[static_cast<std::size_t>(low.args[1])],
                               f.values[static_cast<std::size_t>(high.args[1])]);
}

Value* emit_elementwise(function_emitter& f, const ir::instruction& i) {
  Value* x[3] = {};
  if (Value* const within = within_extent(f, i)) return within;
  if (divides_lanes_by_one(f, i))
    return division_by_one(f, f.values[static_cast<std::size_t>(i.args[0])],
                           f.values[static_cast<std::size_t>(i.args[1])]);
  for (std::size_t k = 0; k < i.args.size(); ++k)
    x[k] = splat(f, f.values[static_cast<std::size_t>(i.args[k])], i.vector ? f.lanes : 0);
  if (i.what == op::select && i.vector && i.type != element::boolean) return emit_choice(f, i.args[0], x[1], x[2]);
  if (Value* const compared = emit_place_comparison(f, i)) return compared;
  const element from = f.instruction(i.args[i.what == op::select ? 1 : 0]).type;
  if (divides_places_by_one(f, i))
    return emit_place_division(f, x[0], f.values[static_cast<std::size_t>(i.args[1])], i.what == op::remainder, [&] {
      return emit_op(f, i.what, from, i.type, {x, i.args.size()});
    });
  return emit_op(f, i.what, from, i.type, {x, i.args.size()});
}

Value* emit_constant(function_emitter& f, const ir::instruction& i) {
  Type* const type = held_type(f.build.getContext(), i.type);
  if (!is_floating(i.type)) return ConstantInt::get(type, static_cast<std::uint64_t>(i.bits), true);
  Value* x = ConstantFP::get(type, std::bit_cast<double>(i.bits));
  return is_half(i.type) ? from_memory(f, i.type, to_memory(f, i.type, x)) : x;
}

Value* lane_pattern(function_emitter& f, const ir::instruction& i) {
  std::vector<Constant*> lanes;
  for (int k = 0; k < f.lanes; ++k) lanes.push_back(f.build.getInt1((i.bits >> (k % i.dimension) & 1) != 0));
  return ConstantVector::get(lanes);
}

Value* lane_numbers(function_emitter& f, const ir::instruction& i) {
  Value* first = splat(f, f.counters[static_cast<std::size_t>(i.target)], f.lanes);
  return f.build.CreateAdd(first, iota(f.build.getContext(), 64, f.lanes));
}

}  // namespace

Value* emit_op(function_emitter& f, op what, element from, element to, std::span<Value* const> args) {
  const op_context c{f, f.build, from, to, args};
  const auto* const found =
      std::find_if(std::begin(rows), std::end(rows), [&](const op_row& r) { return r.what == what; });
  if (found != std::end(rows)) return found->emit(c);
  if (row(what).library == nullptr) throw compile_error(std::string("no code for ") + row(what).name);
  return call_library(c, row(what).library);
}

void emit_instruction(function_emitter& f, ir::value id) {
  const ir::instruction& i = f.instruction(id);
  Value*& result = f.values[static_cast<std::size_t>(id)];
  switch (i.code) {
    case ir::opcode::elementwise:
      result = emit_elementwise(f, i);
      break;
    case ir::opcode::constant:
      result = splat(f, emit_constant(f, i), i.vector ? f.lanes : 0);
      break;
    case ir::opcode::extent:
      result = buffer_extent(f, i.target, i.dimension);
      break;
    case ir::opcode::counter:
      result = f.counters[static_cast<std::size_t>(i.target)];
      break;
    case ir::opcode::run_end:
      result = f.run_end;
      break;
    case ir::opcode::lanes:
      result = lane_numbers(f, i);
      break;
    case ir::opcode::pattern:
      result = lane_pattern(f, i);
      break;
    case ir::opcode::load:
      result = emit_load(f, i);
      break;
    case ir::opcode::accumulator:
      emit_accumulator(f, id);
      break;
    case ir::opcode::read:
      result = emit_read(f, i);
      break;
    case ir::opcode::fold_lanes:
      result = emit_fold_lanes(f, id);
      break;
    case ir::opcode::scan_lanes:
      result = emit_scan_lanes(f, i);
      break;
    case ir::opcode::recur_lanes:
      result = emit_recur_lanes(f, i);
      break;
    case ir::opcode::slide_lanes:
      result = emit_slide_lanes(f, i);
      break;
    case ir::opcode::shift_lanes:
      result = emit_shift_lanes(f, i);
      break;
    case ir::opcode::next_places:
      throw compile_error("lanes take places on a GPU only");
  }
}

}  // namespace sheaf::inline v0_1::llvm_backend
