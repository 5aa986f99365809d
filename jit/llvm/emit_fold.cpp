// Folds: their identities, and how two partial results are combined.
#include <cmath>

#include <sheaf/dsl/graph/monoids.hpp>
#include <sheaf/jit/llvm/emitter.hpp>

namespace sheaf::inline v0_1::llvm_backend {

using namespace llvm;

namespace {

Constant* lowest(Type* type, element of, bool largest) {
  if (is_floating(of)) return ConstantFP::getInfinity(type, !largest);
  if (of == element::boolean) return ConstantInt::get(type, largest ? 1 : 0);
  const unsigned bits = type->getScalarSizeInBits();
  if (is_unsigned(of)) return ConstantInt::get(type, largest ? APInt::getMaxValue(bits) : APInt::getMinValue(bits));
  return ConstantInt::get(type, largest ? APInt::getSignedMaxValue(bits) : APInt::getSignedMinValue(bits));
}

// Whether b is to replace a: it is beyond it, or equal with an earlier position. NaN is beyond every number.
Value* replaces(function_emitter& f, element type, bool largest, const state& a, const state& b) {
  auto& build = f.build;
  Value* earlier = build.CreateICmpSLT(b[1], a[1]);
  if (!is_floating(type)) {
    const bool is_signed = type != element::boolean && !is_unsigned(type);
    const auto more = largest ? (is_signed ? CmpInst::ICMP_SGT : CmpInst::ICMP_UGT)
                              : (is_signed ? CmpInst::ICMP_SLT : CmpInst::ICMP_ULT);
    Value* beyond = build.CreateICmp(more, b[0], a[0]);
    return build.CreateOr(beyond, build.CreateAnd(build.CreateICmpEQ(b[0], a[0]), earlier));
  }
  Value* known = build.CreateFCmpORD(a[0], a[0]);
  Value* beyond = build.CreateFCmp(largest ? CmpInst::FCMP_UGT : CmpInst::FCMP_ULT, b[0], a[0]);
  Value* same_nan = build.CreateAnd(build.CreateNot(known), build.CreateFCmpUNO(b[0], b[0]));
  Value* same = build.CreateOr(build.CreateFCmpOEQ(b[0], a[0]), same_nan);
  return build.CreateOr(build.CreateAnd(beyond, known), build.CreateAnd(same, earlier));
}

// One value of the state that a fold of the program's own makes of two: `values` begins with both.
Value* own_combination(function_emitter& f, int fold, std::vector<Value*> values) {
  const auto fold_at = [&](int k) -> const ir::own_fold& { return f.m.source.folds[static_cast<std::size_t>(k)]; };
  const ir::own_fold& own = fold_at(fold);
  std::vector<element> types;
  for (int k = 0; k < 2 * own.width; ++k) types.push_back(fold_at(fold - own.component + k % own.width).type);
  for (const ir::fold_step& s : own.steps) {
    Type* const type = like(values[0], held_type(f.build.getContext(), s.type));
    if (s.what == op::constant) {
      values.push_back(is_floating(s.type) ? ConstantFP::get(type, std::bit_cast<double>(s.bits))
                                           : ConstantInt::get(type, static_cast<std::uint64_t>(s.bits), true));
    } else {
      Value* x[3] = {};
      for (std::size_t k = 0; k < s.args.size(); ++k) x[k] = values[static_cast<std::size_t>(s.args[k])];
      const element from = types[static_cast<std::size_t>(s.args[s.what == op::select ? 1 : 0])];
      values.push_back(emit_op(f, s.what, from, s.type, {x, s.args.size()}));
    }
    types.push_back(s.type);
  }
  return values[static_cast<std::size_t>(own.result)];
}

}  // namespace

bool has_position(monoid fold) { return fold == monoid::argmax || fold == monoid::argmin; }

// Booleans are kept as bytes: vectors of single bits do not live well in registers without AVX-512.
Type* cell_type(LLVMContext& c, element type) {
  return type == element::boolean ? Type::getInt8Ty(c) : held_type(c, type);
}

Constant* highest_position(Type* type) { return lowest(type, element::i64, true); }

std::vector<element> types_of_state(const function_emitter& f, const ir::instruction& accumulator) {
  std::vector<element> types{accumulator.type};
  if (has_position(accumulator.fold)) types.push_back(element::i64);
  if (!is_own(accumulator.fold)) return types;
  const auto first = static_cast<std::size_t>(own_number(accumulator.fold));
  for (int k = 1; k < f.m.source.folds[first].width; ++k)
    types.push_back(f.m.source.folds[first + static_cast<std::size_t>(k)].type);
  return types;
}

Constant* identity(const function_emitter& f, Type* type, element of, monoid fold) {
  if (is_own(fold)) {
    const std::int64_t bits = f.m.source.folds[static_cast<std::size_t>(own_number(fold))].identity;
    return is_floating(of) ? ConstantFP::get(type, std::bit_cast<double>(bits))
                           : ConstantInt::get(type, static_cast<std::uint64_t>(bits), true);
  }
  const double value = row(fold).identity;
  if (std::isinf(value)) return lowest(type, of, value > 0);
  return is_floating(of) ? ConstantFP::get(type, value) : ConstantInt::get(type, static_cast<std::uint64_t>(value));
}

Value* combined(function_emitter& f, element type, monoid fold, Value* a, Value* b) {
  if (is_own(fold)) return own_combination(f, own_number(fold), {a, b});
  Value* const both[] = {a, b};
  Value* const made = emit_op(f, row(fold).combine, type, type, both);
  return made->getType() == a->getType() ? made : f.build.CreateZExt(made, a->getType());  // booleans are held as bytes
}

state combined(function_emitter& f, element type, monoid fold, const state& a, const state& b) {
  if (has_position(fold)) {
    Value* take = replaces(f, type, fold == monoid::argmax, a, b);
    return {f.build.CreateSelect(take, b[0], a[0]), f.build.CreateSelect(take, b[1], a[1])};
  }
  if (a.size() == 1) return {combined(f, type, fold, a[0], b[0])};
  std::vector<Value*> both = a;
  both.insert(both.end(), b.begin(), b.end());
  state result;
  for (int k = 0; k < static_cast<int>(a.size()); ++k) result.push_back(own_combination(f, own_number(fold) + k, both));
  return result;
}

Value* emit_extreme(function_emitter& f, element type, bool largest, Value* a, Value* b) {
  auto& build = f.build;
  if (is_floating(type)) {
    // One max instruction, which gives a where either is NaN, and a select that brings back b's. Only b is asked, the
    // element where a is an accumulator: what is carried from iteration to iteration waits for no comparison.
    Value* beyond = build.CreateSelect(build.CreateFCmp(largest ? CmpInst::FCMP_OGT : CmpInst::FCMP_OLT, b, a), b, a);
    return build.CreateSelect(build.CreateFCmpUNO(b, b), b, beyond);
  }
  if (type == element::boolean) return largest ? build.CreateOr(a, b) : build.CreateAnd(a, b);
  if (is_unsigned(type)) return build.CreateBinaryIntrinsic(largest ? Intrinsic::umax : Intrinsic::umin, a, b);
  return build.CreateBinaryIntrinsic(largest ? Intrinsic::smax : Intrinsic::smin, a, b);
}

}  // namespace sheaf::inline v0_1::llvm_backend
